import json

import numpy as np
import pytest
from conftest import NETWORKS, experiment, planned, refused, run_blocks, trained_logs
from projects import edit

from circlet.errors import CircletError
from circlet.storage import parquet
from circlet.study import interventions, planning
from circlet.study.seeds import Seeds
from circlet.training import job, run


def start(p=13, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(p, d))


def signals(embedding):
    """Compute the signals from the sum in the definition, for every k."""
    p = len(embedding)
    n = np.arange(p)
    sums = [(np.exp(-2j * np.pi * k * n / p)[:, None] * embedding).sum(0) for k in range(p)]
    return np.array([np.sqrt((np.abs(s) ** 2).sum()) for s in sums])


@pytest.mark.parametrize("p", [12, 13])
@pytest.mark.parametrize("factor", [0.3, 2.5])
def test_scaling_changes_one_frequency_and_inverts(p, factor):
    before = start(p)
    scaled = interventions.scale(before, 4, factor)
    expected = signals(before)
    expected[[4, p - 4]] *= factor
    np.testing.assert_allclose(signals(scaled), expected, atol=1e-12)
    np.testing.assert_allclose(interventions.scale(scaled, 4, 1 / factor), before, atol=1e-12)


@pytest.mark.parametrize("p", [12, 13])
def test_keeping_leaves_only_the_kept(p):
    before = start(p)
    kept = interventions.keep(before, [2, 5])
    expected = np.zeros(p)
    expected[[2, 5, p - 2, p - 5]] = signals(before)[[2, 5, p - 2, p - 5]]
    np.testing.assert_allclose(signals(kept), expected, atol=1e-12)
    np.testing.assert_allclose(interventions.keep(kept, [2, 5]), kept, atol=1e-12)


def test_constructed_embeddings_have_two_frequencies():
    drawn = set()
    for seed in range(20):
        stream = Seeds(seed, 0, 0, 0).stream("intervention")
        embedding = interventions.construct(stream, (13, 6), 0.4, 80.0)
        sizes = signals(embedding)[1:7]
        first, second = np.argsort(-sizes)[:2]
        drawn |= {first, second}
        np.testing.assert_allclose(sorted(sizes)[-2:], [32, 80], rtol=1e-12)
        np.testing.assert_allclose(sorted(sizes)[:-2], 1e-6, rtol=1e-6)
        assert np.isrealobj(embedding)
    assert drawn == set(range(6))


def test_random_frequencies_follow_the_embedding_seed():
    one, same, other = (
        interventions.draw(Seeds(e, n, 7, 0).stream("intervention"), 59, 2)
        for e, n in ((3, 0), (3, 5), (4, 0))
    )
    assert one == same
    assert one != other
    assert all(1 <= k <= 29 for k in one)


def small(**changes):
    return experiment("embedding_mlp", parameters={"p": 11, "d": 6, "hidden": 8}, **changes)


def test_order_matters_and_is_kept(tmp_path):
    acts = [{"scale": {"frequency": 2, "factor": 3}}, {"keep": {"frequencies": [2]}}]
    point = planned(tmp_path, e=small(interventions=acts)).points[0]
    assert point.name == ("p11_d6_hidden-8_wd0.5_scale-frequency-2-factor-3_keep-frequencies-2")
    plain = planned(tmp_path, e=small()).points[0]
    before = run.initials(plain, [1], {})[0]["embedding"]
    after = run.initials(point, [1], {})[0]["embedding"]
    np.testing.assert_allclose(signals(after)[2], 3 * signals(before)[2])
    assert signals(after)[[1, 3, 4, 5]].max() < 1e-12


def test_lists_of_values_are_points_whatever_order_arguments_are_written_in(tmp_path):
    values = {"frequency": [1, 2], "factor": [0.5, 2]}
    turned = {key: values[key] for key in reversed(values)}
    plans = [planned(tmp_path, e=small(interventions=[{"scale": v}])) for v in (values, turned)]
    ends = ["1-factor-0.5", "1-factor-2", "2-factor-0.5", "2-factor-2"]
    for one in (*plans, plans[0].subset(["e"]), planning.plan(json.loads(plans[0].json))):
        assert [p.name.split("scale-frequency-")[1] for p in one.points] == ends
    assert [p.keys["scale_factor"] for p in plans[0].points] == [0.5, 2, 0.5, 2]
    kept = [{"keep": {"frequencies": [[1], [1, 2]]}}]
    seeds = {"count": 2, "embedding": [3, 4]}
    points = planned(tmp_path, e=small(interventions=kept, seeds=seeds)).points
    assert len({point.name for point in points}) == 4
    chosen = {(point.name.rsplit("-", 1)[1], point.seeds(1).embedding) for point in points}
    assert chosen == {("1", 3), ("1", 4), ("1+2", 3), ("1+2", 4)}


def test_frozen_embeddings_stay_and_the_rest_trains(tmp_path):
    log = {"parameters": {}}
    point = planned(tmp_path, e=small(interventions=[{"freeze": {}}], steps=20, log=log)).points[0]
    logs = {k: t.to_pandas() for k, t in trained_logs(point, [0, 1]).items()}
    vectors = logs["embeddings"].sort_values(["seed", "token", "step"])["vector"]
    vectors = np.stack(vectors).reshape(-1, 2, 6)
    np.testing.assert_array_equal(vectors[:, 0], vectors[:, 1])
    weights = logs["parameters"].query("name == 'hidden1.weight'").sort_values(["seed", "step"])
    first, last = np.stack(weights["values"])[:2]
    assert np.abs(first - last).min() > 0
    assert point.keys["freeze"] is True


def test_the_parents_of_a_subset_are_those_that_it_lacks(tmp_path):
    whole = planned(tmp_path, a=small(), b=small(interventions=strongest("a")))
    assert list(whole.subset(["b"]).config.parents) == ["a"]
    assert not whole.subset(["a", "b"]).config.parents


def test_a_run_starts_from_the_strongest_circles_of_its_base(tmp_path):
    whole = planned(
        tmp_path,
        base=small(seeds={"count": 4}),
        starts=small(interventions=[{"keep": {"strongest": 2, "of": "base"}}], block=1),
    )
    run_blocks(whole)
    [point] = whole.experiment("starts")
    for seed, block in zip((0, 1), point.blocks, strict=True):
        assert [b.name for b in block.parents] == ["00000-00001"]
        base = parquet.read_log(block.parents[0], "signals").query(f"seed == {seed}")
        strongest = base[base["step"] == 5].nlargest(2, "signal")["frequency"]
        mine = parquet.read_log(block, "signals").query("step == 0")
        mine = mine.set_index("frequency")["signal"]
        assert set(mine[mine > 1e-4].index) == set(strongest)
        before = base[base["step"] == 0].set_index("frequency")["signal"]
        np.testing.assert_allclose(mine[strongest], before[strongest], rtol=1e-6)


def test_a_run_whose_base_diverged_says_so(tmp_path):
    whole = planned(tmp_path, base=small(), starts=small(interventions=strongest("base")))
    point = whole.experiment("starts")[0]
    of_parent = {0: {"signals": np.full(5, np.nan)}, 1: {"signals": np.arange(5.0)}}
    runs = trained_logs(point, [0, 1], parents=of_parent)["runs"].to_pandas()
    assert list(runs["status"]) == ["no_parent", "finished"]


def test_the_base_is_part_of_what_a_log_was_made_with():
    def spec(**changes):
        whole = planned(base=small(**changes), starts=small(interventions=strongest("base")))
        return whole.experiment("starts")[0].spec

    assert spec() == spec()
    assert spec() != spec(steps=6)


def strongest(of):
    return [{"keep": {"strongest": 1, "of": of}}]


@pytest.mark.parametrize(
    ("acts", "message"),
    [
        ([{"scale": {"frequency": 6, "factor": 1}}], "there is no frequency 6; p = 11 has 1 to 5"),
        ([{"scale": {"frequency": 0, "factor": 1}}], "less than the minimum"),
        ([{"scale": {"factor": 1}}], "scale: needs frequency"),
        ([{"scale": {"frequency": 2, "factor": []}}], "factor: is empty"),
        ([{"scale": {"frequency": 2, "factor": 1, "by": 2}}], "unknown key 'by'"),
        ([{"keep": {}}], "needs one of frequencies, random, strongest"),
        ([{"keep": {"random": 1, "frequencies": [1]}}], "needs one of"),
        ([{"keep": {"random": 6}}], "p = 11 has only 5 frequencies"),
        ([{"keep": {"strongest": 1}}], "strongest and of must both be given, or neither"),
        (strongest("nobody"), "there is no experiment 'nobody' (there are: "),
        (strongest("e"), "e would start from itself"),
        (strongest(["e", "f"]), "is not of type"),
        ([{"keep": {"random": 1}}, {"keep": {"random": 2}}], "listed twice"),
        ([{"keep": {"frequencies": [1, 9]}}], "there is no frequency 9"),
        ([{"construct": {"ratio": 1.5}}], "greater than the maximum"),
        ([{"shrink": {}}], "there is no intervention 'shrink' (there are: scale"),
        ([{"freeze": {"what": 1}}], "interventions"),
        ([{"change": {"step": 3}}], "change: needs learning_rate or weight_decay"),
        ([{"change": {"step": 3, "weight_decay": -1}}], "weight_decay: -1"),
        ([{"change": {"step": 5, "weight_decay": 3}}], "begins after step 5, but runs have 5"),
        ([{"change": {"step": 3, "over": 5, "weight_decay": 3}}], "ends after step 8, but runs"),
        ([{"warm_up": {"steps": 6}}], "warm_up: ends after step 6, but runs have 5 steps"),
        (strongest("larger"), "no point with the parameters"),
        (strongest("two"), "two has more than one point with"),
    ],
)
def test_bad_interventions_are_one_line(acts, message):
    two = small(interventions=[{"scale": {"frequency": 1, "factor": [0.5, 2]}}])
    others = {"larger": experiment("embedding_mlp"), "two": two}
    assert message in refused(lambda: planned(**others, e=small(interventions=acts)))


def test_a_base_may_have_a_base(tmp_path):
    """The job of the last experiment in a chain can be planned and run on its own."""
    whole = planned(
        tmp_path,
        a=small(seeds={"count": 6}, block=3),
        b=small(interventions=strongest("a"), seeds={"count": 4}),
        c=small(interventions=strongest("b"), seeds={"count": 4}, block=4),
    )
    assert [b.point.experiment for b in whole.ordered_blocks] == ["a", "a", "b", "b", "c"]
    for block in whole.ordered_blocks:
        alone = planning.plan(json.loads(block.json))
        (again,) = alone.blocks
        assert again.point.spec == block.point.spec
        assert again.logs == block.logs
        assert again.inputs == block.inputs
        job.run_block(again, "cpu")
    assert set(parquet.read_log(block, "runs")["status"]) == {"finished"}


def test_of_several_bases_the_one_of_the_same_dtype_is_meant():
    both = small(cases=[{"dtype": "float64"}, {"dtype": "float32"}])
    starts = small(interventions=strongest("base"), dtype="float64")
    point = planned(base=both, starts=starts).experiment("starts")[0]
    assert point.parent.settings.dtype == "float64"


@pytest.mark.parametrize("kind", ["signals", "embeddings"])
def test_logs_that_tables_need_must_be_written(kind):
    said = refused(lambda: planned(e=small(log={kind: None})))
    assert f"log.{kind}: the tables need its first and last step" in said


def golden_values():
    """Return values that may change only with a new VERSION of interventions.py."""
    stream = Seeds(5, 0, 0, 0).stream
    acts = {
        "scale": interventions.scale(start(), 2, 1.5),
        "keep": interventions.keep(start(), interventions.draw(stream("intervention"), 13, 2)),
        "construct": interventions.construct(stream("intervention"), (13, 6), 0.5, 80.0),
    }
    flat = {name: array.ravel()[:12].tolist() for name, array in acts.items()}
    return {"version": interventions.VERSION, **flat}


# Interventions of a user's folder.


def mixed(tmp_path, folder=NETWORKS, **arguments):
    act = {f"{folder.name}.mix": {"of": "base"} | arguments}
    base = experiment(f"{folder.name}.quadratic", steps=3)
    both = {"base": base, "mixed": base | {"interventions": [act]}}
    return planned(tmp_path, {"collections": [str(folder)]}, **both)


def test_an_intervention_of_a_user(tmp_path):
    study = run_blocks(mixed(tmp_path, share=[0.0, 1.0]))
    base, none, all_of_it = study.points
    assert none.name.endswith("networks.mix-share-0-of-base")
    assert none.keys["networks.mix_share"] == 0
    first, start = (parquet.read_weights(p.blocks[0], [0]) for p in (none, all_of_it))
    end = parquet.read_weights(base.blocks[0], [3])
    for name, values in end.items():
        np.testing.assert_array_equal(start[name], values)
        assert (first[name] != values).any()
    assert "networks.mix_share" in study.parameters
    made_by = none.spec["version"]
    assert made_by[1] == interventions.VERSION and len(made_by) == 3
    assert not isinstance(base.spec["version"], list)


def test_wrong_arguments_of_an_intervention_of_a_user(tmp_path):
    said = refused(lambda: mixed(tmp_path, share=2.0))
    assert "networks.mix.share: 2.0 is greater than the maximum of 1" in said


def test_an_intervention_must_keep_the_arrays(tmp_path, network):
    edit(network / "interventions/mix.py", "return mixed", 'return {"embedding": 1}')
    base, point = mixed(tmp_path, network).points
    with pytest.raises(CircletError, match=r"mix.py: apply\(\) must return the arrays"):
        run.initials(point, [0], {0: run.initials(base, [0], {})[0]})


def test_an_intervention_of_a_collection_that_the_study_does_not_list(tmp_path):
    mixed(tmp_path)  # loads the collection into this process
    starts = experiment(interventions=[{"networks.mix": {"of": "base"}}])
    said = refused(lambda: planned(base=experiment(), e=starts))
    assert "no intervention 'networks.mix' (there are: scale, construct" in said
