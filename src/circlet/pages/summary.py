"""Text for the terminal: the results of a finished study on one screen, and its scorecard."""

import textwrap
from collections.abc import Iterator

import pandas as pd

from circlet import formatting, terminal
from circlet.analysis import claims
from circlet.analysis.verdicts import NOT_RUN, OPEN, UNDECIDED, VERDICTS
from circlet.errors import LogError
from circlet.pages import story, trends
from circlet.storage import parquet
from circlet.study import claims_file, targets
from circlet.study.plan import Study
from circlet.study.registry import Collection

MAX_REASONS = 6  # reasons of deviations in the summary
WIDTH = 72  # of a claim, in characters
NOTHING = "no scorecard: `reproduce` in the config has no role with published values"
COLUMNS = ("verdict", "claim", "ours", "95 % interval", "counts as agreement", "n", "runs")


def _card(study: Study) -> pd.DataFrame | None:
    """Return the scorecard of a study, `circlet.analysis.claims.explained`.

    None if there is none. Raises LogError if it is older than the config, the code or the runs.
    """
    target = next((p for p in targets.tables(study) if p.name == "scorecard"), None)
    if target is None or claims.read(study).empty:
        return None
    needed = targets.with_dependencies(target)
    current = all(parquet.footer(table.outputs[0]).get("key") == table.key for table in needed)
    if not current or any(map(parquet.differing, target.study.blocks)):
        raise LogError(
            f"{target.outputs[0]}: is older than the config or the code: run snakemake; if it "
            f"finds nothing to do, delete {study.results / 'tables'} and the folders that "
            "`status` lists"
        )
    return claims.explained(parquet.read_table(study, "scorecard"), study)


def summary(study: Study) -> str:
    """Return the results of a study on one screen: verdicts by paper, deviations, pages.

    The line of a collection without tests, such as results beyond the papers, counts all claims.
    """
    card = _card(study)
    if card is None:
        tables = f"tables:    {study.results / 'tables'}"
        return "\n".join([*(list(_trends(study)) or [NOTHING]), "", tables, *_pages(study)])
    tests = card[card["tally"] == claims_file.TEST]
    short, rows, deviations = _short(study), [], []
    for collection in study.used_collections:
        all_claims, group = (part[part["paper"] == collection.name] for part in (card, tests))
        if len(all_claims):
            name = short[collection.name] + " (no tests)" * group.empty
            group = all_claims if group.empty else group
            rows.append((name, claims.counts(group), _figure(study, collection, group)))
            deviations += claims.deviations(group)
    occurs = [v for v in VERDICTS if any(counts[v] for _, counts, _ in rows)]
    words = [verdict.replace("_", " ") for verdict in occurs]
    counted = [(name, *(counts[v] for v in occurs), figure) for name, counts, figure in rows]
    aligned = f"<{'>' * len(occurs)}<"
    lines = [terminal.aligned(("tests of", *words, "look at"), counted, aligned), ""]
    for reason, group in deviations[:MAX_REASONS]:
        where = f"{short[group['paper'].iloc[0]]}, {group['source'].iloc[0]}"
        statements = "; ".join(
            f"{row['statement']} (here: {story.measured(row)})" for row in group.to_dict("records")
        )
        why = reason.partition(". ")[0].rstrip(".") or "no reason is recorded"
        lines += _wrapped(f"{group['verdict'].iloc[0]}: {where}: {statements}. Why: {why}.")
    if len(deviations) > MAX_REASONS:
        lines.append(f"... and {len(deviations) - MAX_REASONS} more reasons, see the report")
    if (chance := claims.by_chance(tests)).judged:
        lines += _wrapped(str(chance))
    if UNDECIDED in set(tests["verdict"]):
        lines.append("Undecided claims need more runs; the scorecard gives the reasons.")
    there = claims.frozen_tests(card)
    if len(there):
        lines += _wrapped(
            f"Tests not run here: {(tests['verdict'] == NOT_RUN).sum()}. Frozen studies of circlet "
            f"have judged {len(there)} of them: {claims.counted(there['frozen_verdict'])}."
        )
    command = f"{terminal.python()} -m circlet scorecard"
    lines += ["", f"all {len(card)} claims: {command} (with the same --configfile, if any)"]
    return "\n".join([*lines, *_pages(study)])


def scorecard(study: Study) -> str:
    """Return the scorecard by paper, a line per claim: tests, other claims, claims not run."""
    card = _card(study)
    if card is None:
        return NOTHING
    lines = []
    for paper, short in _short(study).items():
        if len(of_paper := card[card["paper"] == paper]):
            lines += [f"{short}:", terminal.aligned(COLUMNS, list(_claims(of_paper)), "<<>>>>>")]
            lines += [*_reasons(of_paper), ""]
    return "\n".join(
        [
            *lines,
            "95 % interval: of our value; the verdict also includes the sampling error of the",
            "published value. n: number of independent samples (runs, embeddings or draws).",
            "",
            *_tallies(card),
            *_pages(study),
        ]
    )


def _trends(study: Study) -> Iterator[str]:
    made = {target.name for target in targets.tables(study)}
    if {"effects", "outcome_summary"} <= made:
        effects, outcomes = (parquet.read_table(study, n) for n in ("effects", "outcome_summary"))
        for experiment, sentences in trends.sentences(study, effects, outcomes).items():
            for sentence in sentences:
                yield from _wrapped(f"{experiment}: {sentence}")


def _pages(study: Study) -> list[str]:
    return [f"{name + ':':10} {study.results / name}.html" for name in ("report", "explorer")]


def _short(study: Study) -> dict[str, str]:
    return {c.name: c.metadata.short or c.name for c in study.used_collections}


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH + 28, subsequent_indent="  ")


def _figure(study: Study, collection: Collection, tests: pd.DataFrame) -> str:
    """Return the figure that shows most of the judged tests, or else the first figure."""
    drawn = {figure.name: figure.outputs[0] for figure in targets.figures(study)}
    judged = tests.loc[tests["verdict"] != NOT_RUN, "figure"].value_counts()
    names = [name for name in (*judged.index, *collection.figures) if name in drawn]
    return str(drawn[names[0]]) if names else ""


def _claims(card: pd.DataFrame) -> Iterator[tuple]:
    run = card["verdict"] != NOT_RUN
    for tally, title in claims_file.TALLIES.items():
        yield from _part(title, card[run & (card["tally"] == tally)])
    for name in card.loc[card["frozen_study"] != "", "frozen_study"].unique():
        there = card[card["frozen_study"] == name]
        columns = [column for column in card if f"frozen_{column}" in card]
        there = there.assign(**{column: there[f"frozen_{column}"] for column in columns})
        yield from _part(f"not run here; in the frozen study {name}", there)
    for note, group in card[~run & (card["frozen_study"] == "")].groupby("note", sort=False):
        yield from _part(f"not run: {note}", group)


def _part(title: str, card: pd.DataFrame) -> Iterator[tuple]:
    nothing = ("",) * (len(COLUMNS) - 2)
    if len(card):
        yield ("", f"-- {title}", *nothing)
    for row in card.itertuples():
        interval = story.measured_interval(row._asdict())
        first, *further = textwrap.wrap(f"{row.source}: {row.statement}", WIDTH)
        yield (
            row.verdict.replace("_", " "),
            first,
            formatting.number(row.measured),
            story.CANNOT_TELL if interval.endswith(story.CANNOT_TELL) else interval,
            formatting.span(row.same_low, row.same_high),
            f"{row.measured_n:.0f}",
            f"{row.n_runs}/{row.n_planned}" if row.n_planned else "",
        )
        yield from (("", text, *nothing) for text in further)


def _reasons(card: pd.DataFrame) -> Iterator[str]:
    """Yield why claims are undecided, and how runs of other claims differ from the paper's."""
    noted = card[(card["note"] != "") & (card["verdict"] != NOT_RUN)]
    verdicts = noted["verdict"].where(noted["verdict"].isin(OPEN), "judged on")
    for (verdict, reason), n in noted.groupby([verdicts, "note"]).size().items():
        yield f"{verdict} ({n}): {reason}"


def _tallies(card: pd.DataFrame) -> Iterator[str]:
    yield f"scorecard: {len(card)} claims"
    for tally, group in card.groupby(card["tally"].map(list(claims_file.TALLIES).index)):
        title = list(claims_file.TALLIES.values())[tally]
        yield f"  {len(group):3} {title}: {claims.counted(group['verdict'])}"
    if (chance := claims.by_chance(card[card["tally"] == claims_file.TEST])).judged:
        yield f"  {chance}"
