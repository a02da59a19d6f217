"""Running the public simulator (HEAPLab/pimsim-nn, program ChipTest) and reading its reports. Used by check-pimsim and check-timing."""
import re
import subprocess
import time
from pathlib import Path

BYTES_PER_INSTRUCTION = 160      # that the simulator keeps of every executed instruction


def run(simulator, program, chip, seconds):
    """(report, seconds that it took); RuntimeError where the simulator fails or takes longer than `seconds`."""
    begin = time.monotonic()
    try:
        done = subprocess.run([simulator, program, chip], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no result after {seconds:.0f} s") from None
    if done.returncode != 0:
        raise RuntimeError(f"simulator status {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout, time.monotonic() - begin


def latency_ns(report):
    return float(re.search(r"latency:\s+([0-9.e+-]+)", report).group(1)) * 1e6


def round_count(report, busy):
    """The smallest exact count of the cores `busy`, which have a program: the simulator prints those of idle ones as well."""
    rounds = [int(text) for text in re.findall(r"rounds:\s*([0-9]+)", report)]
    if not rounds:
        raise RuntimeError("the report names no rounds")
    return min(rounds[core] for core in busy) if len(rounds) > max(busy) else min(rounds)


def busy_cores(folder):
    """Cores with instructions of a program in binary files: a header of 12 bytes, then the instructions."""
    return [int(path.stem.removeprefix("core_")) for path in folder.glob("core_*.pim") if path.stat().st_size > 12]


def affordable_rounds(wanted, least, instructions, seconds_per_round, seconds, memory_share):
    """As many of `wanted` rounds as fit into `seconds` and into a share of the free memory, but `least`."""
    free = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1)) * 1024
    by_memory = memory_share * free / (BYTES_PER_INSTRUCTION * instructions)
    return max(least, min(wanted, int(by_memory), int(seconds / max(seconds_per_round, 1e-3))))


def export(binaries, program, target, folder, *options):
    """`folder` with the simulator's form of a .prog."""
    subprocess.run([binaries / "weft-export", program, "--target", target, "-o", folder, *options], check=True)
    return folder


def finish_ns(simulator, binaries, program, target, folder, rounds, seconds):
    """When the last of `rounds` rounds has ended, in mode 1 with every core's list written that many times."""
    export(binaries, program, target, folder, "--sim-mode", "1", "--repeat", str(rounds))
    return latency_ns(run(simulator, folder, folder / "chip.json", seconds)[0])
