"""What a step of a user's network costs is measured when a study is planned."""

import warnings

import pytest
from conftest import written
from projects import edit
from test_authoring import NETWORKS, SLOW, study_of

from circlet.cli import main
from circlet.study import cost, fingerprint, measured, planning


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "folder", lambda: tmp_path / "cache")
    measured._kept.cache_clear()
    yield tmp_path / "cache"
    measured._kept.cache_clear()


def test_costs_are_measured_once(cache, network, monkeypatch, capsys):
    """This works although another study's collection is broken."""
    study_of(network, "results")
    (network / "equations/quadratic.py").write_text("")
    study = study_of(NETWORKS, "results")
    point = study.points[0]
    assert measured.known(point) is None
    measured.measure(study.points)
    found = measured.of(point)
    assert (found.weights, found.embedding) == (7 * 8 + 8 * 7, (7, 8))
    assert 0 < found.alone < 0.1
    assert found.step_seconds(1) == found.alone
    assert found.step_seconds(found.timed) == pytest.approx(found.stacked)
    monkeypatch.setattr(measured.subprocess, "run", None)  # must not be called again
    measured._kept.cache_clear()
    measured.measure(study.points)
    assert measured.of(point) == found
    (file,) = cache.iterdir()
    file.write_text("{")
    measured._kept.cache_clear()
    assert measured.known(point) is None  # so it is measured again
    assert "Measuring what a step of a network costs" in capsys.readouterr().err


def test_logged_steps_are_expected_to_take_longer(cache):
    config = written(study_of(NETWORKS, "results")) | {"collections": [str(NETWORKS)]}
    usual = config["experiments"]["x"] | {"steps": 100}
    config["experiments"] = {f"x{n}": usual | {"log": {"curves": {"every": n}}} for n in (1, 100)}
    often, seldom = planning.plan(config).points
    assert 0 < measured.of(seldom).evaluation < 0.1
    assert cost.cpu_seconds(often.blocks[0]) > cost.cpu_seconds(seldom.blocks[0])


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


def test_what_an_author_prints_does_not_disturb_the_measuring(cache, network):
    """It also works without a cache that can be written."""
    cache.write_text("a file")
    edit(
        network / "equations/quadratic.py", "    p = parameters", "    print(1)\n    p = parameters"
    )
    study = study_of(network, "results")
    measured.measure(study.points)
    assert measured.of(study.points[0]).weights == 112


def test_what_vmap_does_slowly_is_said_when_it_is_measured_and_not_in_jobs(
    cache, network, tmp_path, capsys
):
    file = network / "equations/quadratic.py"
    edit(file, "    pairs, target = examples\n", SLOW)
    study = study_of(network, tmp_path / "results")
    measured.measure(study.points)
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


def test_a_run_that_starts_from_another_is_measured_alone(cache):
    config = written(study_of(NETWORKS, "results")) | {"collections": [str(NETWORKS)]}
    base = config["experiments"]["x"]
    other = base | {"interventions": [{f"{NETWORKS.name}.mix": {"of": "x"}}]}
    config["experiments"] = {"x": base, "y": other}
    study = planning.plan(config)
    measured.measure(study.points[:1])
    measured.measure(study.points)
    assert measured.of(study.points[1]) == measured.of(study.points[0])
