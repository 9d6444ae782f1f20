"""Planted errors: would the scorecard notice wrong results?

An error, such as a bug or a cheat would make, is planted in a table of a frozen study that was made
from logs. All tables that follow are recomputed, and the verdicts are compared with those of the
study. The error is ``noticed`` if a claim that was reproduced or compatible now deviates,
``blurred`` if none does but such a claim is now undecided or not run, and ``missed`` if all claims
that agreed with the paper still do.

It is ``gross`` if the results are entirely different (groups swapped, a wrong unit, a factor of
two, half of the runs), ``moderate`` if they are off by half a standard deviation of a run, or a
tenth to a quarter of the runs are wrong, and ``subtle`` if less is wrong. Names and sizes were
written down before any was tried. All that were tried are listed; tables that are not frozen are
skipped. ``python tests/planted_errors.py [FILE.csv]`` prints all outcomes.
"""

import sys
import tempfile
from collections import namedtuple
from functools import partial
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pyarrow as pa

from circlet import frozen
from circlet.analysis import make
from circlet.analysis.verdicts import AGREES, DISAGREES, NOT_RUN, OPEN
from circlet.errors import LogError
from circlet.lazy_import import load
from circlet.storage import parquet
from circlet.study import planning, targets

STUDIES = Path(__file__).parents[1] / "docs/studies"
NOTICED, BLURRED, MISSED = "noticed", "blurred", "missed"
G, M, S = "gross", "moderate", "subtle"

Error = namedtuple("Error", "name size study table change")  # change: from frame to frame


def chosen(frame, where):
    """Return whether rows have some values of columns; parameters that a system lacks are null."""
    rows = pd.Series(True, frame.index)
    for name, value in where.items():
        rows &= frame[name].eq(value).fillna(False).astype(bool)
    return rows


def error(function):
    """Turn a function of a frame and settings into one of settings; ``where`` selects rows."""
    return lambda *settings, **where: lambda frame: function(frame.copy(), where, *settings)


@error
def computed(frame, where, column, function):
    """Replace a column by a function of the rows."""
    rows = chosen(frame, where)
    frame.loc[rows, column] = function(frame[rows]).astype(frame[column].dtype)
    return frame


def changed(column, function, **where):
    """Replace a column by a function of itself."""
    return computed(column, lambda rows: function(rows[column]), **where)


def swapped(one, other):
    """Swap the values of two columns."""
    return lambda frame: frame.assign(**{one: frame[other], other: frame[one]})


@error
def kept(frame, where, function):
    """Drop rows that ``where`` selects and for which a condition does not hold."""
    rows = frame[chosen(frame, where)]
    return frame.drop(rows.index[~function(rows).to_numpy(bool)])


def copied(made, rows, frame, sources):
    """Copy results (all columns after keys and seeds) into as many rows of another frame."""
    last = max(list(frame).index(key) for key in ("seed", "order_seed", "layer") if key in frame)
    for name in frame.columns[last + 1 :]:
        made.loc[rows, name] = frame.loc[sources, name].array
    return made


@error
def pasted(frame, where, by, sources, share=1.0):
    """Give runs at one value of a column (or a first share of them) the results at another."""
    made = frame.copy()
    for value, source in sources.items():
        rows, others = (frame.index[chosen(frame, where | {by: v})] for v in (value, source))
        n = min(round(share * len(rows)), len(others))
        copied(made, rows[:n], frame, others[:n])
    return made


def by_point(frame):
    return frame.groupby(frame["run_id"].str.rsplit("/", n=1).str[0])


@error
def repeated(frame, _, n):
    """Replace the results of each point by repetitions of its first n runs."""
    place = by_point(frame).cumcount()
    return copied(frame.copy(), frame.index, frame, frame.index - place + place % n)


def noisy(values, size, most):
    return (values + np.random.default_rng(0).normal(0, size, len(values))).clip(0, most)


def shuffled(values):
    return pd.Series(np.random.default_rng(0).permutation(values), values.index)


def some(rows, share):
    """Select a random share of the rows."""
    return pd.Series(np.random.default_rng(0).random(len(rows)) < share, rows.index)


def are_better(runs):
    """Return whether runs are at least as accurate as their point's median."""
    return runs["test_accuracy"] >= by_point(runs)["test_accuracy"].transform("median")


def diverged(runs):
    """End a tenth of the runs at every weight decay at chance accuracy: p = 17, 153 pairs."""
    ends = {"norm_ratio": 9.0, "is_circle": False, "imperfections": 144, "test_accuracy": 1 / 17}
    runs.loc[chosen(runs, WD) & some(runs, 0.1), list(ends)] = tuple(ends.values())
    return runs


def relabelled(runs):
    """Call the roundest grids at weight decay 0.6 circles, until 12 in 100 are circles."""
    here = runs[chosen(runs, WD | {"weight_decay": 0.6})].sort_values("norm_ratio")
    rounder = here.index[: round(0.12 * len(here))]
    return runs.assign(is_circle=runs["is_circle"] | runs.index.isin(rounder))


WD, FA, SCAN = ({"experiment": name} for name in ("weight_decay", "alignment", "decay_scan"))
INIT, HIGH = ({"experiment": name} for name in ("initialisations", "higher_dimensions"))
REVERSE = {0.0: 1.0, 0.3: 0.6, 0.6: 0.3, 1.0: 0.0}
CURRICULUM = {"curriculum": "curriculum_scratch", "curriculum_scratch": "curriculum"}
OTHER = {"hidden": "output", "output": "hidden", "mlp": "representation", "representation": "mlp"}

accuracy = partial(changed, "test_accuracy")
imperfections = partial(changed, "imperfections")
decay, scanned = (partial(pasted, "weight_decay", **where) for where in (WD, SCAN))

PLANTED = {
    ("grids_and_circles", "structures"): [
        ("accuracies divided by 100", G, accuracy(lambda a: a / 100)),
        ("errors in the place of accuracies", G, accuracy(lambda a: 1 - a)),
        ("train in the place of test accuracy", G, accuracy(lambda a: (a + 0.4).clip(upper=1))),
        ("the same accuracy for every run", G, accuracy(lambda a: 0 * a + a.mean())),
        ("accuracies shuffled at equal weight decay", G,
         computed("test_accuracy", lambda t: by_point(t).test_accuracy.transform(shuffled), **WD)),
        ("imperfections counted twice", G, imperfections(lambda i: 2 * i)),
        ("imperfections halved", G, imperfections(lambda i: i // 2)),
        ("perfect pairs counted, not imperfections", G, imperfections(lambda i: 153 - i)),
        ("circles and others confused", G, changed("is_circle", lambda c: ~c)),
        ("no run is a circle", G, changed("is_circle", lambda c: c & False)),
        ("weight decays in reverse order", G, decay(REVERSE)),
        ("column of weight decays reversed, names kept", G,
         changed("weight_decay", lambda d: d.map(REVERSE), **WD)),
        ("weight decay without effect", G, decay({0.3: 0.0, 0.6: 0.0, 1.0: 0.0})),
        ("only the more accurate half of runs kept", G, kept(are_better, **WD)),
        ("half of the runs at weight decay 1 are from 0", G, decay({1.0: 0.0}, 0.5)),
        ("ten seeds repeated a hundred times", G, repeated(10)),
        ("particles: f_a in reverse order", G, pasted("f_a", {0.5: 2.0, 2.0: 0.5}, **FA)),
        ("particles: f_a = 1 is as 2", G, pasted("f_a", {1.0: 2.0}, **FA)),
        ("accuracies divided by 100 in the experiment initialisations", G,
         accuracy(lambda a: a / 100, **INIT)),
        ("all embeddings of the experiment higher_dimensions are circles", G,
         changed("is_circle", lambda c: c | True, **HIGH)),
        ("weight decays 0.3 and 0.6 swapped", M, decay({0.3: 0.6, 0.6: 0.3})),
        ("a quarter of the runs at weight decay 1 are from 0", M, decay({1.0: 0.0}, 0.25)),
        ("runs below an accuracy of 0.1 lost", M, kept(lambda t: t["test_accuracy"] >= 0.1, **WD)),
        ("a tenth of the runs diverged and were counted", M, diverged),
        ("accuracies 8 points too high", M, accuracy(lambda a: (a + 0.08).clip(upper=1))),
        ("noise of 20 points on accuracies", M, accuracy(lambda a: noisy(a, 0.2, 1))),
        ("accuracies clipped at 0.5", M, accuracy(lambda a: a.clip(upper=0.5))),
        ("accuracies shuffled at weight decay 1", M, accuracy(shuffled, **WD, weight_decay=1.0)),
        ("circles 10 points too accurate", M,
         accuracy(lambda a: (a + 0.1).clip(upper=1), is_circle=True)),
        ("a quarter too many imperfections", M, imperfections(lambda i: (1.25 * i).round())),
        ("noise of 20 imperfections", M, imperfections(lambda i: noisy(i, 20, 153).round())),
        ("circles are those below a norm ratio of 2", M,
         computed("is_circle", lambda t: t["norm_ratio"] < 2)),
        ("grids called circles up to the published share", M, relabelled),
        ("particles: a third too many imperfections", M,
         imperfections(lambda i: (4 * i / 3).round(), **FA)),
        ("circles are those below a norm ratio of 1.1", S,
         computed("is_circle", lambda t: t["norm_ratio"] < 1.1)),
        ("accuracies 3 points too high", S, accuracy(lambda a: (a + 0.03).clip(upper=1))),
        ("accuracies rounded to tenths", S, accuracy(lambda a: a.round(1))),
        ("one imperfection too many", S, imperfections(lambda i: i + 1)),
        ("a tenth of the runs at weight decay 1 are from 0", S, decay({1.0: 0.0}, 0.1)),
        ("half of the seeds repeated", S, repeated(500)),
        ("every run counted twice", S, lambda t: pd.concat([t, t], ignore_index=True)),
        ("nine in ten runs lost by chance", S, kept(lambda t: some(t, 0.1), **WD)),
    ],
    ("grids_and_circles", "weight_magnitudes"): [
        ("weights: decays in reverse order", G, scanned({0.0: 1.0, 1.0: 0.0})),
        ("weight decay has no effect on the weights", G, scanned({1.0: 0.0})),
        ("weights: layers swapped", G, changed("layer", lambda x: x.replace(OTHER))),
        ("weights: weights and biases swapped", G, swapped("mean_abs_weight", "mean_abs_bias")),
        ("network weights: sums instead of means", G, changed("mean_abs_weight", lambda w: 64 * w)),
        ("weights: decay 1 is as 0.5", M, scanned({1.0: 0.5})),
        ("weights: a quarter at decay 1 from 0", M, scanned({1.0: 0.0}, 0.25)),
        ("weights: biases squared", M, changed("mean_abs_bias", lambda b: b**2)),
        ("weights: seeds of decay 1 misaligned", S,
         changed("mean_abs_weight", shuffled, layer="hidden", weight_decay=1.0)),
    ],
    ("clustering_heads", "heads"): [
        ("successes and failures confused", G, changed("success", lambda s: ~s)),
        ("accuracies in per cent", G, accuracy(lambda a: 100 * a)),
        ("only the more accurate half of runs kept", G, kept(are_better)),
        ("steps in the place of epochs", G, changed("steps_per_epoch", lambda n: n // n)),
        ("head and fit swapped", G, swapped("structure_step", "fit_step")),
        ("no run has a head", G, changed("head_present", lambda h: h & False)),
        ("attention to one distractor, not to all seven", G,
         changed("distractor_attention", lambda a: a / 7)),
        ("transfers: all solve p = 3", G, accuracy(lambda a: 0 * a + 1, experiment="transfer")),
        ("accuracies shuffled in the experiment seed_effects", G,
         accuracy(shuffled, experiment="seed_effects")),
        ("curriculum and scratch swapped", G, pasted("experiment", CURRICULUM)),
        ("success is above 0.9", M, computed("success", lambda t: t["test_accuracy"] > 0.9)),
        ("widths swapped", M, pasted("hidden", {10: 128, 128: 10}, experiment="widths")),
        ("best in the place of last accuracy", S, swapped("test_accuracy", "best_test_accuracy")),
        ("attention 0.03 too large", S, changed("distractor_attention", lambda a: a + 0.03)),
    ],
    ("clustering_heads", "spikes"): [
        ("every spike counted twice", G, lambda t: pd.concat([t, t], ignore_index=True)),
        ("the two causes of spikes swapped", G, changed("cause", lambda c: c.replace(OTHER))),
        ("steepness in the place of the distance to the boundary", G,
         swapped("boundary_distance", "mlp_gain")),
        ("a third of the spikes lost", M, kept(lambda t: some(t, 2 / 3))),
    ],
    ("clustering_heads", "interpolations"): [
        ("only the ends of the line", G, kept(lambda t: t["t"].isin([0, 1])))],
    ("clustering_heads", "gradient_norms"): [
        ("the same gradient at all steps", G, changed("norm", lambda g: 0 * g + 1))],
}  # fmt: skip
# Tables that are recomputed, as `transfers` and `seed_effects`, get their errors through `heads`.
ERRORS = [
    Error(name, size, study, table, change)
    for (study, table), rows in PLANTED.items()
    if (STUDIES / study / f"tables/{table}.parquet").exists()
    for name, size, change in rows
]


def planted(error):
    """Return the scorecard of a frozen study, and that of a copy with an error.

    Only the tables behind it are recomputed.
    """
    folder = STUDIES / error.study
    study = planning.plan_file(folder / frozen.CONFIG)
    with tempfile.TemporaryDirectory() as temporary:
        copy = study.staged(Path(temporary) / "study")
        copytree(folder, copy.results)
        [card] = [table for table in targets.tables(copy) if table.name == "scorecard"]
        before = parquet.read(card.outputs[0]).to_pandas()
        needed = {table.name for table in targets.with_dependencies(card)}
        again = [table for table in frozen.made_again(copy) if table.name in needed]
        assert error.table not in {table.name for table in again}, (
            f"{error.table}: is made again, without the error"
        )
        path = copy.table(error.table)
        table = parquet.read(path)
        frame = error.change(table.to_pandas())
        made = pa.Table.from_pandas(frame, table.schema, preserve_index=False)
        assert not made.equals(table), f"{error.name}: changes nothing"
        parquet.write(made, path, parquet.footer(path))
        try:
            for target in again:
                made = make.computed(load(target.module), target.study, target.name)
                path = copy.table(target.name)
                parquet.write(made, path, parquet.footer(path))
        except LogError:  # so wrong that there is no scorecard
            return before, None
        return before, parquet.read(card.outputs[0]).to_pandas()


def verdict(before, after):
    """Return the outcome, and the claims that revealed the error."""
    if after is None:
        return NOTICED, ["refused"]
    agreed = before["verdict"].isin(AGREES)
    for outcome, verdicts in ((NOTICED, DISAGREES), (BLURRED, [*OPEN, NOT_RUN])):
        claims = after["claim"][agreed & after["verdict"].isin(verdicts)]
        if len(claims):
            return outcome, list(claims)
    return MISSED, []


def main(path=None):
    """Print all outcomes, and write them as CSV."""
    print(f"{'name':52} {'size':9} {'study':18} {'outcome':8} claims")
    rows = []
    for error in ERRORS:
        outcome, claims = verdict(*planted(error))
        rows.append((*error[:3], outcome, " ".join(claims)))
        print("{:52} {:9} {:18} {:8} {}".format(*rows[-1]), flush=True)
    table = pd.DataFrame(rows, columns=["name", "size", "study", "outcome", "claims"])
    print(pd.crosstab(table["size"], table["outcome"], margins=True))
    if path:
        table.to_csv(path, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
