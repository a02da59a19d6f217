#!/usr/bin/env python3
"""Another candidate generator in Python, through JSON: family after family, each on the next core that has room for its weights.

    make SCHEDULE=examples/swap-a-stage/round_robin.py MODEL=net.onnx CHIP=chip.json

Reads .tasks and .target and writes .cands and one .sched, as weft-schedule does; flatc converts both ways by the schemas.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
NONE = 0xFFFFFFFF


def read(path, kind):
    """An artifact as JSON. flatc does not verify: what comes from elsewhere goes through weft-inspect verify first."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["flatc", "--json", "--strict-json", "--defaults-json", "-o", folder, SCHEMAS / f"{kind}.fbs", "--", path], check=True)
        return json.loads((Path(folder) / f"{Path(path).stem}.json").read_text())


def write(path, kind, table):
    """JSON as an artifact. Its field file_bytes is its own size: converted once to learn it, then again with it."""
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder) / "out.json", Path(folder) / f"out.{path.suffix[1:]}"
        for size in (1, None):
            file.write_text(json.dumps({**table, "file_bytes": size or made.stat().st_size}))
            subprocess.run(["flatc", "--binary", "-o", folder, SCHEMAS / f"{kind}.fbs", file], check=True)
        path.write_bytes(made.read_bytes())


def place(tasks, capacity, cores):
    """(core of every lane, level of every family, crossbars of every core)."""
    crossbars, core = [0] * cores, 0
    lane_core, level = [0] * len(tasks["lanes"]), []
    for family in tasks["families"]:
        for _ in range(cores):
            core = (core + 1) % cores
            if crossbars[core] + family["crossbars"] <= capacity:
                break
        else:
            sys.exit("round_robin: error: no core has room for a family")
        crossbars[core] += family["crossbars"]
        for lane in range(family["first_lane"], family["first_lane"] + family["lane_count"]):
            lane_core[lane] = core
        inputs = tasks["inputs"][family["first_input"]:family["first_input"] + family["input_count"]]
        producers = [tasks["tensors"][tensor]["producer"] for tensor in inputs]
        level.append(max([level[producer] + 1 for producer in producers if producer != NONE], default=0))
    return lane_core, level, crossbars


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks")
    parser.add_argument("--target", required=True)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("--report")
    arguments = parser.parse_args()
    tasks, target = read(arguments.tasks, "tasks"), read(arguments.target, "target")
    cores = target["core_count"]
    lane_core, level, crossbars = place(tasks, target["core"]["crossbar_count"], cores)

    # Lanes of each core in execution order, and where each core's begin.
    order = sorted(range(len(lane_core)), key=lambda lane: (lane_core[lane], level[tasks["lanes"][lane]["family"]], lane))
    first = [sum(core < limit for core in lane_core) for limit in range(cores + 1)]
    work = [0] * cores
    for lane, core in enumerate(lane_core):
        work[core] += tasks["lanes"][lane]["work_ns"]

    schedule = arguments.output.with_name(f"{arguments.output.stem}-0.sched")
    write(schedule, "schedule", {
        "strategy": "round-robin", "lane_core": lane_core, "family_level": level, "family_stage": [0] * len(level), "core_first": first, "core_lanes": order,
        "slots_per_round": max(level) + 1, "stage_count": 1, "depth": 0, "core_work_ns": work, "core_crossbars": crossbars})
    write(arguments.output, "candidates", {
        "file_names": [schedule.name], "strategies": ["round-robin"], "hash_high": [0], "hash_low": [0], "bottleneck_ns": [max(work)], "depth": [0],
        "stage_count": [1], "cores_used": [sum(ns > 0 for ns in work)], "crossbars_used": [sum(crossbars)]})


if __name__ == "__main__":
    main()
