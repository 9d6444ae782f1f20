"""The published claims of a study (`circlet.study.claims_file`), as a frame."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from msgspec import structs

from circlet.analysis.verdicts import DEVIATES, DIFFERS, DISAGREES, NOT_RUN, VERDICTS
from circlet.formatting import number
from circlet.study.claims_file import OTHER, Claim, claims

if TYPE_CHECKING:
    from circlet.study.plan import Study

FROZEN = (
    "claim", "study", "tally", "verdict", "measured", "measured_low", "measured_high", "measured_n",
    "note",
)  # fmt: skip


def read(study: "Study") -> pd.DataFrame:
    """Return the claims of all collections of which the study has a role, in their order.

    Columns are the fields of `circlet.study.claims_file.Claim`. Raises ConfigError if a file is
    not valid.
    """
    asked = (study.whole or study).reproduce
    rows: list[dict] = []
    for collection in study.used_collections:
        listed = claims(collection)
        if {*collection.roles, *(claim.role for claim in listed)} & asked.keys():
            rows += map(structs.asdict, listed)
    return pd.DataFrame(rows, columns=Claim.__struct_fields__)


def explained(card: pd.DataFrame, study: "Study") -> pd.DataFrame:
    """Return a scorecard with reasons, figures and frozen verdicts of its claims, for pages.

    The columns ``frozen_study`` and so on (`FROZEN`) have the verdict of a frozen study of circlet
    on a claim that the study has not run. ``frozen_study`` is empty if there is no such verdict. If
    a claim disagrees here without a recorded reason, but does not in a frozen study with more
    samples, the reason says so.
    """
    paths = [collection.folder / "frozen.csv" for collection in study.used_collections]
    frames = [pd.read_csv(path) for path in paths if path.exists()]
    frozen = pd.concat(frames or [pd.DataFrame(columns=list(FROZEN))])
    verdicts = frozen.set_index("claim").add_prefix("frozen_")
    merged = card.merge(read(study)[["claim", "figure", "reason"]], "left", "claim")
    merged = merged.join(verdicts, on="claim")
    unexplained = merged["verdict"].isin(DISAGREES) & (merged["reason"] == "")
    more = (merged["frozen_measured_n"] > merged["measured_n"]) & merged["frozen_measured"].notna()
    fewer = unexplained & more & ~merged["frozen_verdict"].isin(DISAGREES)
    fewer &= merged["tally"] != OTHER  # whose note has the reason
    merged.loc[fewer, "reason"] = [
        f"Perhaps too few runs: with n = {row.frozen_measured_n:.0f} in place of "
        f"{row.measured_n:.0f}, the frozen study {row.frozen_study} finds "
        f"{number(row.frozen_measured)} ({row.frozen_verdict})."
        for row in merged[fewer].itertuples()
    ]
    merged.loc[merged["verdict"] != NOT_RUN, verdicts.columns] = None
    merged.loc[merged["frozen_tally"] == OTHER, "tally"] = OTHER
    texts = ["figure", "reason", "frozen_study", "frozen_tally", "frozen_verdict", "frozen_note"]
    return merged.assign(**{name: merged[name].fillna("") for name in texts})


def text_of(keys: dict[str, str]) -> str:
    """Return the keys of a row as text: ``weight_decay=0.6;sample=all``."""
    return ";".join(f"{name}={value}" for name, value in keys.items())


class Chance(NamedTuple):
    """Number of tests that disagree, and of those expected to by chance if all were true."""

    disagree: int  # differ or deviate
    judged: int
    expected: float  # upper bound on the number that would disagree by chance
    p: float  # upper bound on the probability that at least as many disagree

    def __str__(self) -> str:
        verb = "differs or deviates" if self.disagree == 1 else "differ or deviate"
        return (
            f"{self.disagree} of {self.judged} test{'s'[: self.judged != 1]} {verb}. If all claims "
            f"were true, and each interval contained the true value with a probability of 95 %, we "
            f"would expect at most {self.expected:.1f} such tests, by chance. If the tests were "
            f"also independent, the probability of {self.disagree} or more such tests would be at "
            f"most {self.p:.2g}."
        )


def by_chance(card: pd.DataFrame, missed: float = 0.05) -> Chance:
    """Return how many judged claims disagree, and how many would by chance if all were true.

    An interval misses a true value with probability ``missed``. For a sentence with one
    threshold, it lies on the wrong side half as often if the value is at the threshold. These are
    upper bounds: some intervals that miss lie within the margin, and few values are at the
    threshold.
    """
    run = card[(card["verdict"] != NOT_RUN) & (card["kind"] != "exact")]
    rates = np.where(run["kind"].str.startswith("words"), missed / 2, missed)
    law = np.ones(1)  # distribution of the number that disagree, for independent claims
    for rate in rates:
        law = np.convolve(law, (1 - rate, rate))
    disagree = int(run["verdict"].isin(DISAGREES).sum())
    return Chance(disagree, len(run), float(rates.sum()), float(law[disagree:].sum()))


def counts(card: pd.DataFrame) -> dict[str, int]:
    """Return how many claims have each verdict."""
    return {verdict: int((card["verdict"] == verdict).sum()) for verdict in VERDICTS}


def words(verdict: str, n: int = 1) -> str:
    """Return the verdict on ``n`` claims in words."""
    if verdict in DISAGREES and n != 1:
        return verdict.removesuffix("s")
    return verdict.replace("_", " ")


def counted(verdicts: pd.Series) -> str:
    """Return how often each verdict occurs: ``3 reproduced, 1 deviates``."""
    counts = verdicts.value_counts()
    return ", ".join(f"{counts[v]} {words(v, counts[v])}" for v in VERDICTS if v in counts)


def deviations(card: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the claims of a scorecard that deviate or differ, by verdict and recorded reason.

    ``card`` has a column ``reason``. A claim without a reason is a group by itself.
    """
    groups = []
    for verdict in (DEVIATES, DIFFERS):
        rows = card[card["verdict"] == verdict]
        alike = rows["reason"].where(rows["reason"] != "", rows["claim"])
        groups += [
            (str(group["reason"].iloc[0]), group) for _, group in rows.groupby(alike, sort=False)
        ]
    return groups
