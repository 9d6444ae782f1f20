"""Random mutants of the shipped configs and of sweeps.yaml, and what `plan` makes of them.

    python tests/study/fuzz.py FIRST COUNT

plans the mutants with these seeds, one after the other in this process, and prints a line of JSON
for each that is neither a plan nor a single line of error. test_fuzz.py runs it; ``mutant(seed)``
is the text of one. Nothing here imports torch, which would be most of the memory.
"""

import contextlib
import copy
import io
import json
import random
import resource
import signal
import sys
import time
from pathlib import Path

import yaml

from circlet.study import planning

ROOT = Path(__file__).parents[2]
# How often each is drawn: the first two are small and cover the same; paper.yaml plans slowest.
WEIGHTS = {
    "config/smoke.yaml": 4, "config/standard.yaml": 3, "config/paper.yaml": 1,
    "tests/study/sweeps.yaml": 4,
}  # fmt: skip
CPU_SECONDS, MEMORY = 5, 2 * 2**30

INTEGERS = (0, 1, 2, 3, 5, 12, 59, 64, 97, 256, 512, 1000, 10**5, 10**6, 10**9, 2**31 - 1)
FLOATS = (0.0, -0.0, 1e-9, 0.001, 0.3, 0.30000000000000004, 0.999999999999, 1.0, 2.0, 1e9, 1e308)


def mutant(seed: int) -> str:
    """Return text of the config with this seed."""
    rng = random.Random(seed)
    name = rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
    config = yaml.load((ROOT / name).read_bytes(), yaml.CSafeLoader)
    if rng.random() < 0.95:  # few experiments are faster, and mutations interact more often
        _cut(config, rng)
    # Nudged configs are often still valid, or wrong only in points or totals. The schema refuses
    # most of the others.
    change = _nudge if rng.random() < 0.6 else _misplace
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change(config, rng)
    return yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


def _cut(config: dict, rng: random.Random) -> None:
    """Keep some experiments and their parents, and mostly their roles and figures."""
    every = config["experiments"]
    kept = set(rng.sample(list(every), rng.randint(1, 4)))
    for _ in range(3):
        acts = [
            a for name in kept for i in every[name].get("interventions", []) for a in i.values()
        ]
        kept |= {act["of"] for act in acts if "of" in act}
    config["experiments"] = {name: every[name] for name in every if name in kept}
    if "figures" in config and rng.random() < 0.9:
        config["figures"] = [f for f in config["figures"] if any(k in f.values() for k in kept)]
    if rng.random() < 0.9:
        roles = config["reproduce"]
        config["reproduce"] = {role: name for role, name in roles.items() if name in kept}


def _places(config) -> list[tuple]:
    """Return every container with each of its keys."""
    found, waiting = [], [config]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, dict | list):
            continue
        keys = list(here) if isinstance(here, dict) else range(len(here))
        found += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    return found


def _nudge(config: dict, rng: random.Random) -> None:
    """Change one value without changing its type."""
    here, key = rng.choice(_places(config))
    value = here[key]
    match value:
        case bool():
            here[key] = not value
        case int():
            near = (value + 1, value - 1, 2 * value, 10 * value, value**2, value // 2 or 1)
            here[key] = rng.choice((*near, *INTEGERS))
        case float():
            here[key] = rng.choice((-value, value / 3, value * 1e9, value + 1e-17, *FLOATS))
        case str():
            same = [h[k] for h, k in _places(config) if isinstance(h[k], str)]
            here[key] = rng.choice(same)
        case list() if value and rng.random() < 0.5:
            value.append(copy.deepcopy(rng.choice(value)))
        case list() if value and rng.random() < 0.5:
            here[key] = value[: rng.randrange(len(value))] or value[:1] * rng.choice((1, 2, 300))
        case list() if value:
            _nudge(value, rng)
        case dict() if value and rng.random() < 0.3:
            del value[rng.choice(list(value))]
        case dict() if value:
            _nudge(value, rng)


def _misplace(config: dict, rng: random.Random) -> None:
    """Delete, repeat or exchange what is written at two places."""
    (here, key), (there, other) = rng.choices(_places(config), k=2)
    match rng.randrange(3):
        case 0:
            del here[key]
        case 1:
            there[other] = copy.deepcopy(here[key])
        case 2:
            here[key], there[other] = there[other], here[key]


class TooLong(BaseException):
    """The plan took too long."""


def _stop(*_: object) -> None:
    raise TooLong


def outcome(path: Path) -> str:
    """Plan a config; return "plan", "error" if it prints one line, or else what is wrong."""
    from circlet.cli import main

    out, err, status = io.StringIO(), io.StringIO(), 0
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 2 * CPU_SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(["plan", "--configfile", str(path)])
    except SystemExit as ended:
        status = ended.code
    except TooLong:
        return f"no end after {2 * CPU_SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    spent = time.process_time() - began
    if spent > CPU_SECONDS:
        return f"took {spent:.1f} s"
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > MEMORY:
        return "took too much memory"
    said = err.getvalue()
    if status == 0 and out.getvalue() and not said:
        return _jobs(path) or "plan"
    one_line = len(said.splitlines()) == 1 and said.startswith("error: ") and len(said) < 1500
    if status == 1 and one_line and "a bug" not in said and not out.getvalue():
        return "error"
    return f"status {status}: {said[-2000:]}"


def _jobs(path: Path) -> str:
    """Return what is wrong with the studies that a plan gives to jobs; empty if nothing is."""
    from circlet.errors import CircletError

    study = planning.plan_file(path)
    for name in study.config.experiments:
        points = study.experiment(name)
        for block in (points[0].blocks[0], points[-1].blocks[-1]):
            try:
                (own,) = planning.decode(block.study).blocks
                again = planning.decode(study.part([name]).json).experiment(name)
            except CircletError as error:
                return f"{'/'.join(block.key)}: a job refuses what the plan allows: {error}"
            if (own.logs, own.point.spec) != (block.logs, block.point.spec):
                return f"{'/'.join(block.key)}: its job would make another block"
            if [point.key for point in again] != [point.key for point in points]:
                return f"{name}: the jobs of tables would see other points"
    return ""


def _run(first: int, count: int) -> None:
    signal.signal(signal.SIGPROF, _stop)
    # Address space exceeds memory: the start of Python and its libraries takes some of it.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + 2**30, MEMORY + 2**30))
    path, plans, began, longest = Path("mutant.yaml"), 0, time.process_time(), 0.0
    for seed in range(first, first + count):
        print(json.dumps({"at": seed}), flush=True)  # shows the seed if the process dies
        path.write_text(mutant(seed), encoding="utf-8")
        start = time.process_time()
        found = outcome(path)
        longest = max(longest, time.process_time() - start)
        plans += found == "plan"
        if found not in ("plan", "error"):
            print(json.dumps({"seed": seed, "wrong": found}), flush=True)
    spent = time.process_time() - began
    print(json.dumps({"plans": plans, "of": count, "seconds": spent, "longest": longest}))


if __name__ == "__main__":
    _run(int(sys.argv[1]), int(sys.argv[2]))
