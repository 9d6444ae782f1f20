"""Verdicts on claims in the frozen studies, for pages."""

import math
from typing import Any

import pandas as pd
import shorter_runs
from scipy.stats import fisher_exact
from study_numbers import DOCS, shown, table

from circlet.analysis import claims, stats
from circlet.analysis.verdicts import DEVIATES, DISAGREES, NOT_RUN, REPRODUCED, VERDICTS, judge
from circlet.collections.ding import ablated_starts
from circlet.formatting import interval, number, span
from circlet.pages import story
from circlet.study import claims_file, registry
from circlet.study.planning import plan_file


def claim(study: str, name: str) -> Any:
    """Return the row of a claim in the scorecard of a study."""
    rows = table(study, "scorecard").set_index("claim")
    return rows.loc[name]


def value(study: str, name: str) -> str:
    """Return our value of a claim, with its interval."""
    return shown(stats.Estimate.of_row(claim(study, name), "measured"))


def counted(study: str, collection: str) -> str:
    """Return how many tests of a collection have each verdict: ``3 reproduced, 1 deviates``."""
    return claims.counted(_tests({collection: study})["verdict"])


def verdict_counts(study: str, *names: str) -> str:
    """Return how many of some claims have each verdict, with a link to the scorecard."""
    counts = claims.counted(table(study, "scorecard").set_index("claim").loc[[*names], "verdict"])
    return f"[Claims](scorecard.md#findings-beyond-the-papers): {counts}."


def _card(papers: dict[str, str]) -> pd.DataFrame:
    """Return the claims of some papers; ``papers`` maps a paper to a study."""
    cards = [table(study, "scorecard").query("paper == @paper") for paper, study in papers.items()]
    return pd.concat(cards).set_index("claim", drop=False)


def _tests(papers: dict[str, str]) -> pd.DataFrame:
    """Return the tests of some papers; ``papers`` maps a paper to a study."""
    card = _card(papers)
    return card[card["tally"] == claims_file.TEST]


def by_chance(missed: float = 0.05, **papers: str) -> claims.Chance:
    """Return how many tests of some papers disagree, and would by chance."""
    return claims.by_chance(_tests(papers), missed)


# Claims that became tests, or stopped being tests, after results were seen.
_ADDED = (
    "ding_circles_collaborate_and_compete", "ding_one_start_spikes", "ding_one_random_spikes",
    "ding_two_random_revive", "ding_two_strongest_are_sooner", "ding_frozen_dip",
    "odonnat_spikes_near_boundary",
)  # fmt: skip
_DROPPED = (
    "ding_svm_accuracy", "ding_line_at_95", "ding_circularity_rises_with_d",
    "musat_biases_limited_more", "odonnat_suffix_initial", "odonnat_attention_initial",
    "odonnat_histogram_successes", "odonnat_spikes_of_feed_forward",
)  # fmt: skip


def at_first(**papers: str) -> claims.Chance:
    """Return how many claims of some papers that were tests before results were seen disagree."""
    card = _card(papers)
    # "Circularity at initialisation does not predict survival" was a test; its opposite holds.
    # "Sharpness rises just before spikes" was reproduced, with spikes that had begun.
    circularity = card.loc[["ding_circularity_helps"]]
    sharpness = card.loc[["odonnat_sharpness_hardly_rises"]]
    if circularity["verdict"].item() != REPRODUCED:
        raise SystemExit("docs/claim_numbers.py: judge the claim that circularity is no help")
    tests = _tests(papers).drop(index=[*_ADDED])
    reversed_claims = [circularity.assign(verdict=DEVIATES), sharpness.assign(verdict=REPRODUCED)]
    return claims.by_chance(pd.concat([tests, card.loc[[*_DROPPED]], *reversed_claims]))


# Roles of Ding et al. whose runs we had seen when we wrote the rules.
_SEEN = (
    "trajectory", "primes", "ode_dimensions", "random_starts", "moduli",
)  # fmt: skip
# Tests whose verdict depends on how we read the words of a paper.
_READINGS = (
    "ding_circle_number", "ding_dead_revive", "ding_first_survives", "ding_gradient_peak",
    "ding_lasso_fit", "ding_one_random_spikes", "ding_one_start_spikes", "ding_scaled_up_survives",
    "ding_three_circles_suffice", "ding_two_random_revive", "ding_two_strongest_are_sooner",
    "musat_decay_limits_biases", "odonnat_spikes_near_boundary", "odonnat_spikes_of_normalisation",
    "odonnat_transfer_helps",
)  # fmt: skip
# Tests that disagree, perhaps because of how we read a figure, or of our initialisation.
_CHOICES = ("ding_line_at_86", "musat_table1_wd0.6_circles")


def weaker(**papers: str) -> dict[str, pd.Series]:
    """Return which tests are weaker evidence, by reason.

    These are the tests of Mușat's table 1, by which we chose the initialisation; those that compare
    with our copy of Odonnat et al.'s released code; two whose rule of survival we chose by the text
    of Ding et al.; those whose runs we had seen when we wrote the rules; and those that depend on
    how we read a paper's words.
    """
    tests = _tests(papers)
    rule = ["ding_no_decay_all_survive", "ding_decay_kills_circles"]
    roles = {claim.claim: claim.role for claim in claims_file.claims(shipped("ding"))}
    return {
        "initialisation": (tests["paper"] == "musat") & (tests["source"] == "Table 1"),
        "released": tests["reference"] == "released code",
        "rule": tests["claim"].isin(rule),
        "seen": tests["claim"].map(roles).isin(_SEEN),
        "reading": tests["claim"].isin(_READINGS),
    }


def by_choice(**papers: str) -> int:
    """Return how many disagreements may be due to our choices."""
    tests = _tests(papers)
    chosen = tests["claim"].isin([*_READINGS, *_CHOICES])
    return (chosen & tests["verdict"].isin(DISAGREES)).sum()


def circles_under_other_initialisations() -> str:
    """Return the verdicts on Mușat's circles at weight decay 0.6 under the other initialisations.

    These are the ones that the page does not exclude.
    """
    keys = ["initialisation", "embedding_std"]
    kept = table("grids_and_circles", "initialisations").query("cell == 'all' and p_holm >= 0.05")
    kept = kept.loc[kept["initialisation"] != "torch", keys]
    runs = table("grids_and_circles", "structures").query(
        "experiment == 'initialisations' and weight_decay == 0.6"
    )
    runs = runs.merge(kept.astype({"embedding_std": runs["embedding_std"].dtype}), on=keys)
    rows = claims.read(plan_file(DOCS / "studies/grids_and_circles/config.yaml"))
    row = rows.set_index("claim").loc["musat_table1_wd0.6_circles"]
    verdicts = [
        judge(row, stats.count(*stats.counted(each["is_circle"]))).verdict
        for _, each in runs.groupby(keys, observed=True)
    ]
    return claims.counted(pd.Series(verdicts))


def independent(**papers: str) -> claims.Chance:
    """Return how many tests disagree without those that are weaker evidence."""
    tests = _tests(papers)
    return claims.by_chance(tests[~pd.DataFrame(weaker(**papers)).any(axis=1)])


def answer(study: str, collection: str) -> str:
    """Return how many tests of a collection have each verdict, in a sentence."""
    card = table(study, "scorecard")
    tests = card[(card["paper"] == collection) & (card["tally"] == claims_file.TEST)]
    return f"{len(tests)} tests: {claims.counted(tests['verdict'])}."


def shipped(collection: str) -> registry.Collection:
    """Return a collection of circlet by its name."""
    return next(c for c in registry.SHIPPED if c.name == collection)


def about(collection: str, what: str) -> Any:
    """Return a field of a collection's collection.yaml."""
    return getattr(shipped(collection).metadata, what)


def claims_table(study: str, names: list[str], *chosen: str) -> str:
    """Return claims, our values and verdicts as a Markdown table; ``chosen``: verdicts to list.

    Empty if no claim has one of these verdicts.
    """
    rows = [claim(study, name) for name in names]
    lines = [
        f"| {row['statement'].replace('|', chr(92) + '|')} | {story.measured(row)} "
        f"| {row['verdict'].replace('_', ' ')} |"
        for row in rows
        if row["verdict"] in (chosen or VERDICTS)
    ]
    return "\n".join(["| claim | our value | verdict |", "|---|---|---|", *lines]) if lines else ""


def steps_of_two(study: str, level: float) -> str:
    """Return the steps to a loss of runs from two circles, in percent of those from all."""
    return number(100 * ablated_starts.sooner(_first_and_second(study), level).value)


def _first_and_second(study: str) -> pd.DataFrame:
    """Return the losses of first runs and of those restarted with their strongest circles."""
    losses = table(study, "losses")
    return losses[losses["experiment"].isin(["first_runs", "restarts"])]


def late_restarts(study: str) -> dict[str, Any]:
    """Return how many runs from two circles never reach `ablated_starts.LEVEL`.

    Also how many there are, and the percentage of steps that the others need.
    """
    losses = _first_and_second(study)
    lowest = losses[losses["keep_strongest"] == 2].groupby("seed")["test_loss"].min()
    late = lowest.index[lowest > ablated_starts.LEVEL]
    others = ablated_starts.sooner(losses[~losses["seed"].isin(late)])
    return {"never": len(late), "all": len(lowest), "others": number(100 * others.value)}


def runs_to_decide(study: str, name: str) -> str:
    """Return how many runs would decide a claim about a bound, if our value stayed as it is.

    An interval shrinks like the root of the number of runs.
    """
    row = claim(study, name)
    gap, half = row["measured"] - row["same_low"], row["measured_high"] - row["measured_low"]
    runs = row["n_runs"] * (half / 2 / gap) ** 2
    return f"{float(f'{runs:.1g}'):,.0f}".replace(",", " ")


def tail(study: str, name: str) -> float:
    """Return the p of Fisher's exact test of a published share of runs against ours."""
    row = claim(study, name)
    runs = int(row["unit"].removeprefix("of "))
    published = (round(row["published"]), runs)
    ours = (round(row["measured"] / runs * row["measured_n"]), int(row["measured_n"]))
    counts = [[k, n - k] for k, n in (published, ours)]
    return float(fisher_exact(counts).pvalue)


def strangest(study: str, name: str, collection: str) -> float:
    """Return the probability that the smallest p among a collection's tests is at most `tail`."""
    return float(1 - (1 - tail(study, name)) ** len(_tests({collection: study})))


def verdicts(study: str, collection: str, *chosen: str, tests: bool | None = None) -> str:
    """Return the claims of a collection as a Markdown table; ``chosen``: verdicts to list.

    ``tests``: list only the tests, or only the other claims and why each is no test.
    """
    card = table(study, "scorecard")
    selected = card[(card["paper"] == collection) & card["verdict"].isin(chosen or VERDICTS)]
    if tests is not None:
        selected = selected[(selected["tally"] == claims_file.TEST) == tests]
    head = ["verdict", "where", "claim", "here", "agrees within", "n"]
    head += ["why it is no test"] if tests is False else []
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in selected.to_dict("records"):
        further = row["reference"] not in ("paper", "circlet", row["source"].lower())
        cells = [
            row["verdict"].replace("_", " "),
            f"{row['source']} ({row['reference']})" if further else row["source"],
            row["statement"].replace("|", "\\|"),
            story.measured(row) if row["measured_n"] else "",
            span(row["same_low"], row["same_high"]),
            str(row["measured_n"]),
        ]
        cells += [claims_file.TALLIES[row["tally"]]] if tests is False else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(selected) else "None."


def shorter(study: str, collection: str) -> str:
    """Return which claims shorter runs decide as the study's do, as a Markdown table.

    Exits if the column ``shorter`` of ``claims.csv`` disagrees.
    """
    recorded = claims.read(plan_file(DOCS / f"studies/{study}/config.yaml"))
    recorded = recorded[recorded["collection"] == collection]
    rows = shorter_runs.compared(lambda name: table(study, name), recorded)
    shown = {row["claim"]: row["same"] for row in rows}
    for name, stated in recorded.set_index("claim")["shorter"].items():
        if stated != shown.get(str(name), ""):
            raise SystemExit(f"claims.csv: {name}: shorter must be {shown.get(str(name), '')!r}")
    steps = (*shorter_runs.STEPS, shorter_runs.LAST)
    lines = [f"| claim | {' | '.join(f'step {step}' for step in steps)} | same from |"]
    lines.append("|---" * (len(steps) + 2) + "|")
    for row in rows:
        back = math.exp if row["kind"] in ("ratio", "words_ratio") else float
        cells = [
            f"{number(row['values'][step])}; {interval(back(gap.low), back(gap.high))}"
            for step, gap in row["gaps"].items()
        ]
        last = number(row["values"][shorter_runs.LAST])
        factor = "a factor of " if back is math.exp else "±"
        what = f"{row['statement']} (margin: {factor}{number(row['margin'])})"
        first = row["same"].removeprefix("steps>=") or "none"
        lines.append(f"| {' | '.join([what, *cells, last, first])} |")
    return "\n".join(lines)


def frozen_verdicts(collection: str) -> str:
    """Return the verdicts of the frozen studies on the claims of a collection, as CSV.

    Exits if two studies have judged the same claim.
    """
    cards = [
        table(path.parents[1].name, "scorecard").assign(study=path.parents[1].name)
        for path in sorted(DOCS.glob("studies/*/tables/scorecard.parquet"))
    ]
    all_rows = pd.concat(cards, ignore_index=True)
    judged = all_rows[(all_rows["paper"] == collection) & (all_rows["verdict"] != NOT_RUN)]
    if judged["claim"].duplicated().any():
        raise SystemExit(f"{collection}: two frozen studies have judged the same claim")
    return judged.to_csv(
        columns=claims.FROZEN, index=False, float_format="%.6g", lineterminator="\n"
    )
