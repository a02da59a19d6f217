#!/usr/bin/env python3
"""Compile every cell of a table of models, chips and options; collect one table of results.

  weft-sweep run TABLE.tsv -o OUT [-j N]            here, N jobs
  weft-sweep slurm TABLE.tsv -o OUT [--cpus N]      as an array of a Slurm cluster: one element per cell, make -jN inside
  weft-sweep ssh TABLE.tsv -o OUT --hosts a,b       on other machines, by GNU parallel over ssh
  weft-sweep collect TABLE.tsv -o OUT               the results of the cells that are done
  weft-sweep cell TABLE.tsv -o OUT INDEX            one cell; what the others call

TABLE has a line of column names and one line per cell, separated by tabs:

  model           a network of weft-zoo, "resnet18:64" for another image size, or an ONNX file
  chip            a chip of weft ("isaac-168x96") or a JSON file
  options         optional: Make variables, e.g. SCHEDULE_FLAGS='--stages 4' LOWER=/my/lower
  name            optional: name of the cell; default: model, chip, number

Files are relative to the table. OUT/results.tsv and OUT/results.json have one row per cell in the order of the table: figures, or why
there are none; their bytes depend on the table and its files only, not on where, when or in which order cells ran. OUT/cells/<name>/ holds
the files of a cell. Run again, a sweep does what is missing or changed: stored results (--store, default OUT/store) are reused. Status 1
where a cell failed for another reason than a refusal.
"""
import argparse
import csv
import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import figures as results  # noqa: E402  (beside this file)

COLUMNS = ["cell", "model", "chip", "options", "status", "interval_ns", "latency_ns", "work_bound_ns", "local_bound_ns", "depth", "stages", "cores_used",
           "crossbars_used", "instructions", "mode", "strategy", "candidate", "program_hash", "reason"]
REFUSED = 1        # exit status of a stage that says no


class UsageError(Exception):
    pass


def chip_file(name, table):
    for path in (table.parent / name, HERE.parent / "targets" / f"{name}.json"):
        if path.is_file():
            return path.resolve()
    raise UsageError(f"{table}: chip '{name}': no such file, and no chip of weft")


def read_table(table):
    if not table.is_file():
        raise UsageError(f"{table}: no such file")
    with open(table, newline="") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if any(row.values()) and not (row.get("model") or "").startswith("#")]
    cells = []
    for index, row in enumerate(rows):
        if not row.get("model") or not row.get("chip"):
            raise UsageError(f"{table}: row {index + 1}: a cell needs a model and a chip (columns 'model' and 'chip', separated by tabs)")
        stem = lambda text: re.sub(r"[^A-Za-z0-9_-]", "_", re.sub(r"\.(onnx|json)$", "", Path(text).name))
        name = row.get("name") or f"{stem(row['model'])}-{stem(row['chip'])}-{index}"
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise UsageError(f"{table}: row {index + 1}: the name '{name}' may have letters, digits, - and _ only")
        cells.append({"name": name, "model": row["model"], "chip": row["chip"], "options": row.get("options") or ""})
    if not cells:
        raise UsageError(f"{table}: no cells")
    names = [cell["name"] for cell in cells]
    if len(set(names)) != len(names):
        raise UsageError(f"{table}: two cells have one name; the column 'name' tells them apart")
    return cells


def write_whole(path, text):
    """In one step, so that no reader sees a part."""
    part = path.with_name(f"{path.name}.{os.uname().nodename}.{os.getpid()}.part")
    part.write_text(text)
    part.rename(path)


def model_file(arguments, cell):
    file = arguments.table.parent / cell["model"]
    if cell["model"].endswith(".onnx"):
        if not file.is_file():
            raise UsageError(f"{file}: no such file")
        return file.resolve()
    return results.zoo_model(arguments.bin, cell["model"], arguments.out / "models")


def reason_of(log, arguments):
    """(status, text) of a build that failed: the first message of a stage, without the places of this machine."""
    errors = [line for line in log.splitlines() if ": error: " in line] or log.strip().splitlines()[-1:] or ["no message"]
    status = [int(number) for number in re.findall(r"\] Error (\d+)$", log, re.MULTILINE)]
    text = errors[0].replace(f"{arguments.out}/", "").replace(f"{arguments.table.parent}/", "")
    return "refused" if status and status[0] == REFUSED else "failed", text


def make_command(arguments, cell, model, chip):
    pipeline = "tiles" if re.search(r'"family"\s*:\s*"ipu21"', chip.read_text()) else "model"
    command = ["make", "--no-print-directory", "-f", str(HERE / f"{pipeline}.mk"), f"-j{arguments.jobs}", f"MODEL={model}", f"CHIP={chip}", "NAME=net",
               f"STORE={arguments.store}"]
    if arguments.bin:
        command.append(f"BIN={arguments.bin}")
    return command + shlex.split(cell["options"])


def run_cell(arguments, cell):
    """Makes one cell, and its result.json; the record."""
    folder = arguments.out / "cells" / cell["name"]
    folder.mkdir(parents=True, exist_ok=True)
    record = {"cell": cell["name"], "model": cell["model"], "chip": cell["chip"], "options": cell["options"]}
    # A cell that was given up as lost may still run somewhere: one make per folder.
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            model, chip = model_file(arguments, cell), chip_file(cell["chip"], arguments.table)
            environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
            run = subprocess.run(make_command(arguments, cell, model, chip), cwd=folder, capture_output=True, text=True, env=environment)
            write_whole(folder / "log.txt", run.stdout + run.stderr)
            if run.returncode == 0:
                record["status"] = "ok"
                record.update(results.figures(arguments.bin, folder, "net"))
                record["chip"] = cell["chip"]
            else:
                record["status"], record["reason"] = reason_of(run.stderr, arguments)
        except subprocess.CalledProcessError as error:
            record["status"], record["reason"] = reason_of(error.stderr or f"{error.cmd[0]}: status {error.returncode}", arguments)
        except (UsageError, OSError, ValueError, KeyError) as error:
            record["status"], record["reason"] = "failed", str(error).replace(f"{arguments.out}/", "")
        write_whole(folder / "result.json", json.dumps(record, indent=1) + "\n")
    return record


def load_result(arguments, cell):
    try:
        record = json.loads((arguments.out / "cells" / cell["name"] / "result.json").read_text())
        if all(record.get(key) == cell[key] for key in ("model", "chip", "options")):
            return record
    except (OSError, ValueError):
        pass
    return {"cell": cell["name"], "model": cell["model"], "chip": cell["chip"], "options": cell["options"], "status": "missing", "reason": "did not run to its end"}


def collect(arguments, cells):
    """OUT/results.tsv and .json; the exit status."""
    records = [{key: record[key] for key in COLUMNS if record.get(key) is not None} for record in (load_result(arguments, cell) for cell in cells)]
    lines = ["\t".join(COLUMNS)]
    for record in records:
        lines.append("\t".join(re.sub(r"\s+", " ", str(record.get(column, ""))) for column in COLUMNS))
    write_whole(arguments.out / "results.tsv", "\n".join(lines) + "\n")
    write_whole(arguments.out / "results.json", json.dumps(records, indent=1) + "\n")
    counts = {status: sum(record["status"] == status for record in records) for status in ("ok", "refused", "failed", "missing")}
    print(", ".join(f"{count} {status}" for status, count in counts.items() if count) + f"; {arguments.out / 'results.tsv'}")
    return 1 if counts["failed"] or counts["missing"] else 0


def say(done, cells, record, begin):
    text = f"interval {record['interval_ns'] / 1000:.1f} us" if record.get("interval_ns") is not None else record.get("reason", "")
    print(f"[{done}/{cells}] {record['cell']}: {record['status']}{', ' + text if text else ''} ({time.monotonic() - begin:.1f} s)", file=sys.stderr, flush=True)


def run_here(arguments, cells):
    begin = time.monotonic()
    workers = max(1, min(arguments.jobs, len(cells)))
    arguments.jobs = max(1, arguments.jobs // workers)
    with ThreadPoolExecutor(workers) as pool:
        done = 0
        for record in pool.map(lambda cell: run_cell(arguments, cell), cells):
            done += 1
            say(done, len(cells), record, begin)
    return collect(arguments, cells)


def cell_words(arguments, jobs):
    words = [sys.executable or "python3", str(HERE / "sweep.py"), "cell", str(arguments.table), "-o", str(arguments.out), "-j", str(jobs), "--store", str(arguments.store)]
    return words + (["--bin", str(arguments.bin)] if arguments.bin else [])


def squeue(job):
    """{element: state} of what is still in the queue; None where the controller does not answer."""
    run = subprocess.run(["squeue", "-h", "-r", "-j", job, "-o", "%K %T"], capture_output=True, text=True)
    if run.returncode != 0:
        return {} if "Invalid job id" in run.stderr else None
    return {int(line.split()[0]): line.split()[1] for line in run.stdout.splitlines() if line.split()[0].isdigit()}


def run_slurm(arguments, cells):
    for program in ("sbatch", "squeue"):
        if not shutil.which(program):
            raise UsageError(f"{program} is not there; weft-sweep slurm needs a Slurm cluster (weft-sweep ssh does not)")
    logs = arguments.out / "slurm"
    logs.mkdir(parents=True, exist_ok=True)
    script = logs / "job.sh"
    # exec: the signals of the cluster reach the sweep itself. A cell that is cut off has no result, and is safe to take up again.
    write_whole(script, f"#!/bin/sh\nexec {shlex.join(cell_words(arguments, arguments.cpus))} \"$SLURM_ARRAY_TASK_ID\"\n")
    # A result of an earlier sweep must not count as this one's.
    for cell in cells:
        (arguments.out / "cells" / cell["name"] / "result.json").unlink(missing_ok=True)
    limit = f"%{arguments.at_once}" if arguments.at_once else ""
    submit = ["sbatch", "--parsable", "--requeue", f"--array=0-{len(cells) - 1}{limit}", f"--cpus-per-task={arguments.cpus}", "--job-name=weft-sweep",
              "--open-mode=append", f"--output={logs}/cell-%a.log", *shlex.split(arguments.sbatch), str(script)]
    job = subprocess.run(submit, check=True, capture_output=True, text=True).stdout.strip().split(";")[0]
    print(f"job {job}: {len(cells)} cells; weft-sweep collect {arguments.table} -o {arguments.out} collects them if this program is stopped", file=sys.stderr, flush=True)
    if arguments.no_wait:
        return 0
    begin, before, gone = time.monotonic(), None, 0
    while True:
        states = squeue(job)
        done = sum((arguments.out / "cells" / cell["name"] / "result.json").exists() for cell in cells)
        running = sum(state in ("RUNNING", "COMPLETING") for state in (states or {}).values())
        if (done, running) != before:
            print(f"[{done}/{len(cells)}] done, {running} running ({time.monotonic() - begin:.0f} s)", file=sys.stderr, flush=True)
            before = (done, running)
        # On shared file systems a result may be seen a little later than the end of its job.
        gone = gone + 1 if states == {} else 0
        if states == {} and (done == len(cells) or gone > 10):
            return collect(arguments, cells)
        time.sleep(arguments.poll)


def run_ssh(arguments, cells):
    if not shutil.which("parallel"):
        raise UsageError("GNU parallel is not there (Debian package parallel)")
    logs = arguments.out / "ssh"
    logs.mkdir(parents=True, exist_ok=True)
    # The folders must have the same names on all machines (a shared file system).
    command = ["parallel", "--will-cite", "--sshlogin", arguments.hosts, "--joblog", str(logs / "jobs.tsv"), "--retries", "3", "-j", str(arguments.per_host),
               shlex.join(cell_words(arguments, arguments.cpus)) + " {}", ":::", *map(str, range(len(cells)))]
    # parallel takes the user's shell, or guesses one from its parents (this Python, where SHELL is not set as under a service).
    environment = {**os.environ, "PARALLEL_SHELL": "/bin/sh"}
    if arguments.ssh:
        environment["PARALLEL_SSH"] = arguments.ssh
    # A machine that fails costs its cells only: their results are then missing, and another run makes them.
    subprocess.run(command, env=environment, check=False)
    return collect(arguments, cells)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"{message}\nTry 'weft-sweep --help'.")

    def format_help(self):
        return super().format_help().replace("usage: ", "Usage: ", 1)


def parse_arguments(words):
    parser = Parser(prog="weft-sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                    epilog="Examples:\n  weft-sweep run sweep.tsv -o results -j 8\n  weft-sweep slurm sweep.tsv -o /shared/results --cpus 4 --sbatch '--time 1:00:00'")
    parser.add_argument("--version", action="version", version="weft-sweep 0.1.0")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    for name, text in {"run": "here", "slurm": "on a Slurm cluster", "ssh": "on machines reached by ssh", "collect": "results of the cells that are done", "cell": "one cell"}.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("table", type=Path)
        command.add_argument("-o", "--output", dest="out", type=Path, required=True, metavar="OUT")
        command.add_argument("--bin", type=Path, help="folder of weft's programs (default: PATH)")
        command.add_argument("--store", type=Path, help="folder of stored results (default: OUT/store)")
        command.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time")
        command.add_argument("--cpus", type=int, default=1, help="processors of one cell on a cluster")
        if name == "slurm":
            command.add_argument("--sbatch", default="", help="further options of sbatch")
            command.add_argument("--at-once", type=int, default=0, help="most cells at the same time")
            command.add_argument("--poll", type=float, default=1.0, help="seconds between two looks at the queue")
            command.add_argument("--no-wait", action="store_true", help="submit only")
        if name == "ssh":
            command.add_argument("--hosts", required=True, help="machines, separated by commas, as parallel --sshlogin takes them (':' is this one)")
            command.add_argument("--per-host", type=int, default=1, help="cells at the same time on one machine")
            command.add_argument("--ssh", default="", help="another program than ssh")
        if name == "cell":
            command.add_argument("index", type=int)
    arguments = parser.parse_args(words)
    arguments.table, arguments.out = arguments.table.resolve(), arguments.out.resolve()
    arguments.store = (arguments.store or arguments.out / "store").resolve()
    arguments.bin = arguments.bin.resolve() if arguments.bin else None
    return arguments


def main(words):
    try:
        arguments = parse_arguments(words)
        cells = read_table(arguments.table)
        if arguments.command == "cell":
            if not 0 <= arguments.index < len(cells):
                raise UsageError(f"{arguments.table} has cells 0 to {len(cells) - 1}")
            run_cell(arguments, cells[arguments.index])
            return 0      # a cell that fails is a result: the cluster must not try it again
        arguments.out.mkdir(parents=True, exist_ok=True)
        return {"run": run_here, "slurm": run_slurm, "ssh": run_ssh, "collect": collect}[arguments.command](arguments, cells)
    except UsageError as error:
        print(f"weft-sweep: error: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        print(f"weft-sweep: error: {shlex.join(map(str, error.cmd))}: status {error.returncode}: {(error.stderr or '').strip()}", file=sys.stderr)
        return 4
    except OSError as error:
        print(f"weft-sweep: error: {error}", file=sys.stderr)
        return 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
