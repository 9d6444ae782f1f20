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
import math
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

ODD = (
    0, 1, -1, 2, 3, 17, 2**15, 2**31 - 1, 2**31, 2**63, 10**18, 10**400, -(10**30), 0.0, -0.0,
    0.1, 0.5, 1.5, 1e-300, 5e-324, 1e300, math.nan, math.inf, -math.inf, True, False, None, "",
    " ", "a", "a\n", "\n", "a b", "a/b", "..", ".", "/", "-x", "~", "logs", "results/logs", "é",
    "数", "\u2028", "\x85", "\ufeff", "\x1b[31m", "x" * 300, "x" * 5000, "1e-4", "1_0", "0x1f",
    "1:30", "yes", "null", "{}", "[]", "%", "{experiment}", "__use_yte__", "<<", "*", "&a",
    "!!int", "2024-13-45", "2024-01-01", "particles", "sparse_transformer", "embedding_mlp",
    "constant_attention", "float64", "trajectory", [], {}, [0], [[]], [None], [1, 1], [1, "1"],
    [0.0, -0.0], {"a": 1}, {1: 2}, {None: None}, {"": 0}, {"every": 1}, {"until": 5},
    {"per_decade": 1000}, {"every": 3, "every_epochs": 2, "at": [7]}, {"keep": {"random": 1}},
    [{"freeze": {}}], {"of": "heads"}, {"of": ["heads"]}, {"count": 50},
    {"logspace": [0.01, 1, 3]}, {"linspace": [0, 1, 3]}, {"range": [5, 9, 2]}, {"choice": [5, 7]},
    {"uniform": [0.1, 1]}, {"loguniform": [0, 1]}, {"logspace": [0, 1, 10**7]},
    {"weight_decay": [0.6, 1]}, {"p": [5, 7]}, [{"where": {"p": 5}, "count": 50}],
    [{"heat": "decay_scan"}], [{"curves": "alignment", "show": ["nothing"]}], {"delay": None},
    {"x": {"metric": "test_loss", "below": 1}}, {"x": {"from": "delay", "to": "x"}},
)  # fmt: skip
INTEGERS = (0, 1, 2, 3, 5, 12, 59, 64, 97, 256, 512, 1000, 10**5, 10**6, 10**9, 2**31 - 1)
FLOATS = (0.0, -0.0, 1e-9, 0.001, 0.3, 0.30000000000000004, 0.999999999999, 1.0, 2.0, 1e9, 1e308)
KEYS = (
    "steps", "epochs", "block", "seeds", "count", "first", "embedding", "data", "order",
    "sweep", "cases", "log", "signals", "curves", "parameters", "interventions", "keep",
    "transfer", "scale", "of", "p", "d", "hidden", "train_fraction", "batch_size", "n_train",
    "dtype", "system", "results", "parents", "collections", "experiments", "reproduce", "every",
    "until", "at", "frequencies", "strongest", "random", "figures", "milestones", "derived_metrics",
    "compare", "notify",
    "sample", "keep_state", "more", "where", "linspace", "logspace", "range", "uniform",
    "loguniform", "choice", "heat", "show", "facet", "metric", "above", "from", "to", "label",
    "<<", "", "a\n", "é", "x" * 300, 5, None,
    True, 1.5, "__use_yte__",
)  # fmt: skip
SNIPPETS = (
    b"&a ", b"*a", b"&a [*a, *a]", b"<<: *a", b"<<: [*a, *a]", b"!!int ", b"!!bool ",
    b"!!float ", b"!!set ", b"!!binary ", b"!!timestamp ", b"!!python/object:x ", b"!x ",
    b"%YAML 9.9\n", b"---\n", b"...\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"\t", b"\r",
    b"\x85", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}", b": ", b"- ", b"? ", b"|\n", b">\n", b"#",
    b"'", b'"', b"\\", b",", b"\n", b" ", b"[" * 500, b"- " * 500, b"{a: " * 100, b"9" * 400,
    b"9" * 5000, b"9:" * 3000, b"1," * 20_000, b"-", b".", b"e9",
)  # fmt: skip


def mutant(seed: int) -> bytes:
    """Return text of the config with this seed."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # for copying and dumping 500 levels; the plan has its own limit
    try:
        return _mutant(random.Random(seed))
    finally:
        sys.setrecursionlimit(limit)


def _mutant(rng: random.Random) -> bytes:
    name = rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
    config = yaml.load((ROOT / name).read_bytes(), yaml.CSafeLoader)
    if rng.random() < 0.95:  # few experiments are faster, and mutations interact more often
        _cut(config, rng)
    # Nudged configs are often still valid, or wrong only in points or totals. The schema refuses
    # most of the others, and the parser most of those with changed text.
    how = rng.random()
    few = rng.choice((1, 1, 1, 2, 3, 6))
    for _ in range(few if how < 0.7 else 0):
        (_nudge if how < 0.4 else _change)(config, rng)
    text = _text(config, rng)
    for _ in range(few if how > 0.65 else 0):
        text = _scramble(text, rng)
    return text


def _text(config, rng: random.Random) -> bytes:
    flow = rng.choice((None, None, False, True))
    options = {"sort_keys": False, "default_flow_style": flow, "allow_unicode": True}
    return yaml.dump(config, Dumper=yaml.CSafeDumper, encoding="utf-8", **options)


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
    """Return every container with each of its keys; an aliased container is listed once."""
    found, waiting, seen = [], [config], set()
    while waiting:
        here = waiting.pop()
        if id(here) in seen or not isinstance(here, dict | list):
            continue
        seen.add(id(here))
        keys = list(here) if isinstance(here, dict) else range(len(here))
        found += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    return found


def _nudge(config: dict, rng: random.Random) -> None:
    """Change one value without changing its type."""
    places = _places(config)
    if not places:
        return
    here, key = rng.choice(places)
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


def _change(config: dict, rng: random.Random) -> None:
    """Change the structure at one place."""
    places = _places(config)
    if not places:
        return
    here, key = rng.choice(places)
    there, other = rng.choice(places)
    match rng.randrange(11):
        case 0 | 1 | 2:
            here[key] = copy.deepcopy(rng.choice(ODD))
        case 3:
            del here[key]
        case 4 if isinstance(here, dict):
            here[rng.choice(KEYS)] = here.pop(key)
        case 5 if isinstance(here, dict):
            here[rng.choice(KEYS)] = copy.deepcopy(rng.choice((*ODD, here[key])))
        case 4 | 5:
            here.insert(key, copy.deepcopy(rng.choice((*ODD, here[key]))))
        case 6:
            here[key], there[other] = there[other], here[key]
        case 7:
            there[other] = copy.deepcopy(here[key])
        case 8:
            there[other] = here[key]  # an alias, perhaps of itself
        case 9:
            for _ in range(rng.choice((3, 15, 30, 500))):
                here[key] = rng.choice(([here[key]], {"a": here[key]}, {5: here[key]}))
        case 10:
            most = rng.choice((5, 300, 20_000))
            one = copy.deepcopy(here[key])
            lists = (list(range(most)), [i / most for i in range(most)], [one] * most)
            here[key] = rng.choice((*lists, {f"k{i}": one for i in range(most)}))


def _scramble(text: bytes, rng: random.Random) -> bytes:
    """Change the text at one place."""
    lines = text.splitlines(keepends=True) or [b""]
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    at, snippet = rng.randrange(len(text) + 1), rng.choice(SNIPPETS)
    match rng.randrange(8):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            return text[:at] + text[at + rng.choice((1, 2, 50)) :]
        case 4:
            return text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :]
        case 5:
            return text[:at] + snippet + text[at:]
        case 6:
            before, colon, _ = lines[i].partition(b":")
            lines[i] = before + colon + b" " + snippet + b"\n"
        case 7:
            return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    return b"".join(lines)


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
        path.write_bytes(mutant(seed))
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
