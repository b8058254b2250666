"""Counts the instructions of small fixed pieces of work, and compares them with those in
results/guard.json. Whatever else the machine does, they are the same to within a hundredth."""

import json
import os
import re
import shutil
import subprocess

# In this order: the later ones change what the ones before need.
STEPS = [
    "open",
    "get",
    "scan",
    "index",
    "load",
    "commit",
    "update",
    "list",
    "compact",
    "merge",
    "idle",
]
TOLERANCE = 1.10
COUNT = re.compile(r"Total instructions:\s*(\d+)")


def count(command, workload, directory):
    """Millions of instructions of a process, all its threads together; None if it failed."""
    log = directory / "valgrind.log"
    log.unlink(missing_ok=True)
    tool = ["valgrind", "--tool=exp-bbv", "--instr-count-only=yes", f"--log-file={log}"]
    # Hash tables in the same order every time.
    settings = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
    done = subprocess.run(
        [*tool, *command, workload, str(directory)],
        env=settings,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{workload} failed: {(done.stderr or done.stdout).strip()}")
        return None
    return sum(map(int, COUNT.findall(log.read_text()))) / 1e6


def measure(command, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    subprocess.run([*command, "guard-prepare", str(directory)], check=True)
    base = count(command, "guard-base", directory)
    if base is None:
        return None
    found = {}
    for step in STEPS:
        total = count(command, "guard-" + step, directory)
        if total is None:
            return None
        # Without what it takes to start a process.
        found[step] = round(total - base, 2)
    return found


def run(command, directory, file, update):
    """Returns the status of the process: 0 if nothing costs more than it may."""
    if not shutil.which("valgrind"):
        print("valgrind is missing: apt-get install valgrind")
        return 2
    found = measure(command, directory)
    if found is None:
        return 2
    known = json.loads(file.read_text()) if file.exists() else {}
    worse = []
    print(f"{'':10}{'million instructions':>22}{'before':>12}{'times':>9}")
    for step, value in found.items():
        before = known.get(step)
        times = value / before if before else None
        if times and times > TOLERANCE:
            worse.append(step)
        print(
            f"{step:10}{value:22,.2f}{'–' if before is None else f'{before:,.2f}':>12}"
            f"{'–' if times is None else f'{times:.3f}':>9}"
            + ("  WORSE" if step in worse else "")
        )
    if update:
        file.write_text(json.dumps(found, indent=1) + "\n")
        print("written:", file)
        return 0
    missing = [step for step in STEPS if step not in known]
    if missing:
        print("nothing to compare with:", *missing, "(--guard --update writes it)")
        return 2
    if worse:
        print(f"more than {TOLERANCE:.2f} times as many instructions:", *worse)
    return int(bool(worse))
