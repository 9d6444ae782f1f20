"""Runs that continue from a kept final state: more steps, other logs, refused cases."""

import pytest
from conftest import config, ran, run_blocks
from test_checkpoints import SYSTEMS, steps_of
from test_checkpoints import logs as logs_of

from circlet.study import planning
from circlet.training import job


def keeping(folder, steps, **changes):
    return planning.plan(config(folder, steps=steps, keep_state=True, **changes))


def made(folder, steps, **changes):
    """Run all blocks of a small study, and return it."""
    return run_blocks(keeping(folder, steps, **changes))


def logs(study):
    return {block.key: logs_of(block) for block in study.blocks}


@pytest.mark.parametrize("system", SYSTEMS)
def test_more_steps_go_on_to_the_numbers_of_one_run(tmp_path, system, caplog):
    settings = {"system": system, **SYSTEMS[system]}
    short = made(tmp_path / "a", 30, **settings)
    first = next(short.blocks)
    assert first.state.exists()
    longer = keeping(tmp_path / "a", 60, **settings)
    steps = [done % 60 or 60 for block in longer.blocks for done in steps_of(block)]
    assert min(steps) > 30 and not caplog.text  # no step is repeated, nothing is refused
    assert logs(longer) == logs(made(tmp_path / "b", 60, **settings))
    # The state kept then is that of the new end, so runs can go on again.
    again = made(tmp_path / "a", 75, **settings)
    assert logs(again) == logs(made(tmp_path / "c", 75, **settings))


def test_fewer_logs_train_nothing(tmp_path):
    made(tmp_path / "a", 40, log={"curves": {"every": 5}})
    fewer = keeping(tmp_path / "a", 40, log={"curves": {"every": 20}})
    assert not any(map(steps_of, fewer.blocks))
    assert logs(fewer) == logs(made(tmp_path / "b", 40, log={"curves": {"every": 20}}))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"log": {"curves": {"every": 2}}}, "no curves of step 2"),
        ({"steps": 10}, "no embeddings of step 10"),
    ],
)
def test_what_does_not_fit_begins_anew(tmp_path, caplog, changes, why):
    caplog.set_level("INFO")
    logged = {"log": {"curves": {"every": 10}}}
    made(tmp_path / "a", 20, **logged)
    other = {"steps": 40, **logged} | changes
    again = made(tmp_path / "a", **other)
    assert why in caplog.text
    assert logs(again) == logs(made(tmp_path / "b", **other))


def test_a_run_that_goes_on_and_is_killed_resumes_from_its_regular_checkpoint(
    tmp_path, monkeypatch
):
    """A checkpoint also stores the kept states of groups that have not started."""
    settings = {"system": "embedding_mlp", **SYSTEMS["embedding_mlp"]}  # each run is a group
    made(tmp_path / "a", 20, **settings)
    longer = keeping(tmp_path / "a", 40, **settings)
    (block,) = longer.blocks
    monkeypatch.setattr("circlet.training.checkpoint.Checkpoint.due", lambda self: True)
    monkeypatch.setattr("circlet.training.native_run.FIRST", 1)  # reports every step
    monkeypatch.setattr("circlet.training.native_run.LONGEST", 0.0)

    def killed(done, _):
        if done == 30:
            raise KeyboardInterrupt  # at once, like SIGKILL: nothing is saved then

    with pytest.raises(KeyboardInterrupt):
        job.run_block(block, "cpu", killed)
    steps = steps_of(block)
    assert steps == [*range(30, 41), *range(61, 81)] or steps == [*range(31, 41), *range(61, 81)]
    assert logs(longer) == logs(made(tmp_path / "b", 40, **settings))


def test_without_it_nothing_is_kept(tmp_path):
    ran(tmp_path)
    assert (tmp_path / "logs").exists() and not [*tmp_path.rglob("*.pt")]
