"""What one compiled network's files say, as one flat record. Used by sweep.py and by scripts/measure."""
import json
import subprocess


def stat(binaries, path):
    """The figures of an artifact, by weft-inspect."""
    text = subprocess.run([str(binaries / "weft-inspect") if binaries else "weft-inspect", "stat", "--json", path], check=True, capture_output=True,
                          text=True).stdout
    return json.loads(text)


def figures(binaries, folder, name):
    """The figures of the selected program in `folder`; times are per inference. Only what the inputs decide: no host, time or path."""
    program = stat(binaries, folder / f"{name}.prog")
    timing = stat(binaries, folder / f"{name}.timing")["figures"]
    chosen = stat(binaries, folder / f"{name}.selection")["figures"]["chosen"]
    schedule = stat(binaries, folder / f"{name}-{chosen}.sched")["figures"]
    target = stat(binaries, folder / f"{name}.target")["figures"]
    per_round = max(1, timing.get("inferences_per_round", 1))

    def per_inference(key):
        return timing[key] // per_round if key in timing else None

    return {
        "chip": target["name"],
        "mode": schedule["mode"].lower() if "mode" in schedule else None,
        "stages": program["figures"].get("stages"),
        "depth": program["figures"].get("depth"),
        "cores_used": program["figures"].get("cores_used"),
        "crossbars_used": program["figures"].get("crossbars_used"),
        "instructions": program["figures"].get("executed_instructions"),
        "interval_ns": per_inference("interval_ns"),
        "latency_ns": timing.get("latency_ns"),
        "work_bound_ns": per_inference("work_bound_ns"),
        "local_bound_ns": per_inference("local_bound_ns"),
        "program_hash": program["hash"],
        "strategy": schedule.get("strategy"),
        "candidate": chosen,
    }


def zoo_model(binaries, model, folder):
    """The file of a zoo network "resnet18", "resnet18:64" (image size) or "vgg16:32:512" (and hidden units) in `folder`, made where it is not there yet."""
    name, *numbers = model.split(":")
    path = folder / ("-".join([name, *numbers]) + ".onnx")
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--seed", "1"]
        for option, number in zip(("--size", "--hidden"), numbers):
            options += [option, number]
        subprocess.run([str(binaries / "weft-zoo") if binaries else "weft-zoo", name, *options, "-o", path], check=True, capture_output=True, text=True)
    return path
