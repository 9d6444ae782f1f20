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
    rows, deviations = [], []
    for collection in study.used_collections:
        listed, has_tests = story.of_paper(card, collection.name)
        counted = listed[listed["tally"] == claims_file.TEST]
        if len(counted):
            name = story.short(collection) + " (no tests)" * (not has_tests)
            rows.append((name, claims.counts(counted), _figure(study, collection, counted)))
            deviations += [
                (story.short(collection), *group) for group in claims.deviations(counted)
            ]
    occurs = [verdict for verdict in VERDICTS if any(counts[verdict] for _, counts, _ in rows)]
    cells = [(name, *(counts[v] for v in occurs), figure) for name, counts, figure in rows]
    header = ("tests of", *map(claims.words, occurs), "look at")
    command = f"{terminal.python()} -m circlet scorecard"
    return "\n".join(
        [
            terminal.aligned(header, cells, f"<{'>' * len(occurs)}<"),
            "",
            *_deviations(deviations),
            *_remarks(card),
            "",
            f"all {len(card)} claims: {command} (with the same --configfile, if any)",
            *_pages(study),
        ]
    )


def _deviations(groups: list[tuple[str, str, pd.DataFrame]]) -> Iterator[str]:
    """Yield which claims deviate or differ and why; ``groups``: papers, reasons, claims."""
    for paper, reason, group in groups[:MAX_REASONS]:
        rows = group.to_dict("records")
        statements = "; ".join(f"{row['statement']} (here: {story.measured(row)})" for row in rows)
        where = f"{rows[0]['verdict']}: {paper}, {rows[0]['source']}"
        why = reason.partition(". ")[0].rstrip(".") or "no reason is recorded"
        yield from _wrapped(f"{where}: {statements}. Why: {why}.")
    if len(groups) > MAX_REASONS:
        yield f"... and {len(groups) - MAX_REASONS} more reasons, see the report"


def _remarks(card: pd.DataFrame) -> Iterator[str]:
    """Yield what holds for all tests: chance, and verdicts that are open or of frozen studies."""
    tests = card[card["tally"] == claims_file.TEST]
    if (chance := claims.by_chance(tests)).judged:
        yield from _wrapped(str(chance))
    if UNDECIDED in set(tests["verdict"]):
        yield "Undecided claims need more runs; the scorecard gives the reasons."
    if len(frozen := tests.loc[tests["frozen_study"] != "", "frozen_verdict"]):
        yield from _wrapped(
            f"Tests not run here: {(tests['verdict'] == NOT_RUN).sum()}. Frozen studies of circlet "
            f"have judged {len(frozen)} of them: {claims.counted(frozen)}."
        )


def scorecard(study: Study) -> str:
    """Return the scorecard by paper, a line per claim: tests, other claims, claims not run."""
    card = _card(study)
    if card is None:
        return NOTHING
    lines = []
    for collection in study.used_collections:
        if len(of_paper := card[card["paper"] == collection.name]):
            table = terminal.aligned(COLUMNS, list(_claims(of_paper)), "<<>>>>>")
            lines += [f"{story.short(collection)}:", table, *_reasons(of_paper), ""]
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
    effects, outcomes = (parquet.read_table(study, n) for n in ("effects", "outcome_summary"))
    for experiment, sentences in trends.sentences(study, effects, outcomes).items():
        for sentence in sentences:
            yield from _wrapped(f"{experiment}: {sentence}")


def _pages(study: Study) -> list[str]:
    return [f"{name + ':':10} {study.results / name}.html" for name in ("report", "explorer")]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH + 28, subsequent_indent="  ")


def _figure(study: Study, collection: Collection, tests: pd.DataFrame) -> str:
    """Return the figure that shows most of the judged tests, or else the first figure."""
    drawn = {figure.name: figure.outputs[0] for figure in targets.figures(study)}
    judged = tests.loc[tests["verdict"] != NOT_RUN, "figure"].value_counts()
    names = [name for name in (*judged.index, *collection.figures) if name in drawn]
    return str(drawn[names[0]]) if names else ""


def _claims(card: pd.DataFrame) -> Iterator[tuple]:
    """Yield the rows of a table of claims, in groups that have titles."""
    was_run, groups = card["verdict"] != NOT_RUN, {}
    for tally, title in claims_file.TALLIES.items():
        groups[title] = card[was_run & (card["tally"] == tally)].to_dict("records")
    groups |= {f"not run here: {cause}": rows for cause, rows in story.not_run(card).items()}
    nothing = ("",) * (len(COLUMNS) - 2)
    for title, rows in groups.items():
        if rows:
            yield ("", f"-- {title}", *nothing)
        for row in rows:
            interval = story.measured_interval(row)
            first, *further = textwrap.wrap(f"{row['source']}: {row['statement']}", WIDTH)
            yield (
                claims.words(row["verdict"]),
                first,
                formatting.number(row["measured"]),
                story.CANNOT_TELL if interval.endswith(story.CANNOT_TELL) else interval,
                formatting.span(row["same_low"], row["same_high"]),
                f"{row['measured_n']:.0f}",
                f"{row['n_runs']}/{row['n_planned']}" if row["n_planned"] else "",
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
    for tally, title in claims_file.TALLIES.items():
        if len(group := card[card["tally"] == tally]):
            yield f"  {len(group):3} {title}: {claims.counted(group['verdict'])}"
    if (chance := claims.by_chance(card[card["tally"] == claims_file.TEST])).judged:
        yield f"  {chance}"
