"""For any config, `plan` prints a plan or one line, soon, and jobs make what is planned.

The configs are random mutants of the shipped ones and of sweeps.yaml.
"""

import copy
import random
import time

import pytest
import yaml
from conftest import ROOT

from circlet import terminal
from circlet.errors import CircletError
from circlet.study import planning

MUTANTS, CHUNK = 1000, 250  # chunks, so that several processes share the work
CPU_SECONDS = 5
# How often each is drawn: the first two are small and cover the same; paper.yaml plans slowest.
WEIGHTS = {
    "config/smoke.yaml": 4, "config/standard.yaml": 3, "config/paper.yaml": 1,
    "tests/study/sweeps.yaml": 4,
}  # fmt: skip
ODD = (0, 1, 2, 3, 5, 59, 64, 512, 10**5, 10**9, 2**31 - 1, -0.0, 1e-9, 0.3, 0.30000000000000004,
       0.999999999999, 1e308)  # fmt: skip


def mutant(seed: int) -> str:
    """Return text of the config with this seed."""
    rng = random.Random(seed)
    name = rng.choices(list(WEIGHTS), WEIGHTS.values())[0]
    config = yaml.load((ROOT / name).read_bytes(), yaml.CSafeLoader)
    _cut(config, rng)  # few experiments are faster, and mutations interact more often
    # Nudged configs are often still valid, or wrong only in points or totals. The schema refuses
    # most of the others.
    change = _nudge if rng.random() < 0.6 else _misplace
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change(config, rng)
    return yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


def _cut(config: dict, rng: random.Random) -> None:
    """Keep some experiments and their parents, with their roles and figures."""
    whole = config["experiments"]
    kept = set(rng.sample(list(whole), rng.randint(1, 4)))
    for _ in range(3):
        acts = [
            a for name in kept for i in whole[name].get("interventions", []) for a in i.values()
        ]
        kept |= {act["of"] for act in acts if "of" in act}
    config["experiments"] = {name: whole[name] for name in whole if name in kept}
    config["figures"] = [f for f in config.get("figures", []) if kept & {*map(str, f.values())}]
    roles = config["reproduce"]
    config["reproduce"] = {role: name for role, name in roles.items() if name in kept}


def _places(config) -> list[tuple]:
    """Return every container with each of its keys."""
    places, waiting = [], [config]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, dict | list):
            continue
        keys = list(here) if isinstance(here, dict) else range(len(here))
        places += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    return places


def _nudge(config: dict, rng: random.Random) -> None:
    """Change one value without changing its type, or let it be an odd number or a longer list."""
    places = _places(config)
    here, key = rng.choice([(h, k) for h, k in places if not isinstance(h[k], dict)])
    value = here[key]
    if isinstance(value, bool):
        here[key] = not value
    elif isinstance(value, int | float):
        here[key] = rng.choice((value + 1, value - 1, -value, 2 * value, value // 2, *ODD))
    elif isinstance(value, list):
        here[key] = rng.choice((value[:-1], value[:1] * 300, [*value, *value[:1]]))
    else:
        here[key] = rng.choice([h[k] for h, k in places if isinstance(h[k], str)])


def _misplace(config: dict, rng: random.Random) -> None:
    """Delete a value, or write what is at one place at another."""
    (here, key), (there, other) = rng.choices(_places(config), k=2)
    if rng.random() < 0.3:
        del here[key]
    else:
        there[other] = copy.deepcopy(here[key])


def check_jobs(study):
    """Check that jobs plan what is planned, from the parts of the study that they get."""
    for name in study.config.experiments:
        points = study.experiment(name)
        for block in (points[0].blocks[0], points[-1].blocks[-1]):
            (alone,) = planning.decode(block.json).blocks
            assert (alone.logs, alone.point.spec) == (block.logs, block.point.spec)
        again = planning.decode(study.subset([name]).json).experiment(name)
        assert [point.key for point in again] == [point.key for point in points]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, MUTANTS, CHUNK))
def test_every_config_is_a_plan_or_one_line(tmp_path, monkeypatch, first):
    monkeypatch.chdir(tmp_path)
    path, plans = tmp_path / "mutant.yaml", 0
    for seed in range(first, first + CHUNK):
        path.write_text(mutant(seed), encoding="utf-8")  # a failure leaves it there
        began = time.process_time()
        try:
            study = planning.plan_file(path)
            terminal.plan(study)
        except CircletError as error:
            assert "\n" not in str(error) and len(str(error)) < 1500, seed
        else:
            check_jobs(study)
            plans += 1
        assert time.process_time() - began < CPU_SECONDS, seed
    # A mutant that is refused at its first key tests little: many must reach the points.
    assert plans > CHUNK / 20
