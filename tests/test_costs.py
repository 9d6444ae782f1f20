"""What a step of a user's network costs is measured when a study is planned."""

import warnings

import pytest
from conftest import NETWORKS, written
from projects import edit
from test_authoring import SLOW, study_of

from circlet.cli import main
from circlet.study import cost, fingerprint, measured, planning, user_cache


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "folder", lambda: tmp_path / "cache")
    user_cache.kept.cache_clear()
    yield tmp_path / "cache"
    user_cache.kept.cache_clear()


def test_costs_are_measured_once(cache, network, capsys):
    """Runs share them if only their logs or starts differ; another study's collection is broken."""
    study_of(network, "results")
    (network / "equations/quadratic.py").write_text("")
    config = written(study_of(NETWORKS, "results")) | {"collections": [str(NETWORKS)]}
    usual = config["experiments"]["x"] | {"steps": 100}
    config["experiments"] = {f"x{n}": usual | {"log": {"curves": {"every": n}}} for n in (1, 100)}
    mixed = [{f"{NETWORKS.name}.mix": {"of": "x1"}}]
    config["experiments"]["y"] = usual | {"interventions": mixed}
    config["experiments"]["z"] = usual | {"products": "bfloat16"}
    points = planning.plan(config).points
    often, seldom, _, rounded = points
    assert measured.cached(often) is None
    measured.measure(points)
    costs = measured.of(often)
    assert (costs.weights, costs.embedding) == (7 * 8 + 8 * 7, (7, 8))
    assert 0 < costs.alone < 0.1 and 0 < costs.evaluation < 0.1
    assert costs.step_seconds(1) == costs.alone
    assert costs.step_seconds(costs.timed) == pytest.approx(costs.stacked)
    assert cost.cpu_seconds(often.blocks[0]) > cost.cpu_seconds(seldom.blocks[0])
    user_cache.kept.cache_clear()
    measured.measure(points)
    assert {measured.of(point) for point in points[:3]} == {costs} != {measured.of(rounded)}
    (file,) = cache.iterdir()
    file.write_text("{")
    user_cache.kept.cache_clear()
    assert measured.cached(often) is None  # so it is measured again
    assert capsys.readouterr().err.count("Measuring what a step of") == 1


@pytest.mark.slow
def test_a_collection_that_imports_another_can_be_measured(cache, network):
    config = written(study_of(network, "results")) | {"collections": [str(network), str(NETWORKS)]}
    (network / "equations/quadratic.py").write_text(
        "from circlet.collections.networks.equations.quadratic import *\n"
    )
    fingerprint.forget()
    points = planning.plan(config).points
    measured.measure(points)
    assert measured.of(points[0]).weights == 112


def test_a_network_that_fails_is_said_when_it_is_planned(cache, network):
    edit(network / "equations/quadratic.py", "self.output(", "self.outputs(")
    study = study_of(network, "results")
    with pytest.raises(Exception, match=r"quadratic.py:\d+: .*no attribute 'outputs'") as caught:
        measured.measure(study.points)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_what_vmap_does_slowly_is_said_when_it_is_measured_and_not_in_jobs(
    cache, network, tmp_path, capsys
):
    """What an author prints does not disturb it, nor does a cache that cannot be written."""
    cache.write_text("a file")
    file = network / "equations/quadratic.py"
    edit(file, "    pairs, target = examples\n", SLOW)
    edit(file, "    p = parameters", "    print(1)\n    p = parameters")
    study = study_of(network, tmp_path / "results")
    assert measured.of(study.points[0]).weights == 112
    slow = "batching rule for aten::renorm"
    assert capsys.readouterr().err.count(slow) == 1
    with warnings.catch_warnings(record=True, action="always") as shown:
        main(["run", "--study", study.json, "--collections", str(network)])
    assert not [warning for warning in shown if slow in str(warning.message)]


def test_the_same_shapes_used_more_often_are_measured_again(network):
    from circlet.training import measure

    equations, system = (network / f"{kind}/quadratic.py" for kind in ("equations", "systems"))
    edit(system, '    "p": integer', '    "times": integer("Loops.", 1),\n        "p": integer')
    edit(equations, "    return Quadratic(", "    own = Quadratic(")
    made = 'parameters["width"])\n'
    edit(equations, made, made + '    own.times = parameters["times"]\n    return own\n')
    head = "loss(network, examples):\n"
    loop = "    for _ in range(network.times):\n        network(examples[0])\n"
    edit(equations, head, head + loop)
    config = written(study_of(network, "results"))
    config["experiments"]["x"]["sweep"] = {"times": [1, 50]}
    points = planning.plan(config).points
    first, second = map(measure._signature, points)
    assert first != second
