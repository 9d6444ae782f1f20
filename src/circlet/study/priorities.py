"""Priorities of jobs, chosen so that the first figures are ready early."""

from collections.abc import Iterable

from circlet.study import cost
from circlet.study.declarations import literals
from circlet.study.plan import Study
from circlet.study.targets import Target, with_dependencies

FOR_PAGES = 1000  # priority of what no figure needs: report and explorer would wait for it


def trained_for(target: Target) -> set[str]:
    """Return the experiments whose logs a target needs, and their parents."""
    configs = [t.study.config for t in with_dependencies(target) if "LOGS" in literals(t.module)]
    return {name for config in configs for name in (*config.experiments, *config.parents)}


def priorities(study: Study, drawn: Iterable[Target]) -> tuple[dict[str, int], dict[str, int]]:
    """Return priorities that produce figures early; jobs with larger numbers run first.

    A figure and the tables that it needs precede figures that need more training. ``drawn`` are the
    study's figures. The first result has the priority of each experiment by name, the second that
    of each target that a figure needs, by ``kind/name``.
    """
    seconds = {
        name: sum(cost.cpu_seconds(b) for point in study.experiment(name) for b in point.blocks)
        for name in study.config.experiments
    }

    by_name = {figure.name: (figure, trained_for(figure) & seconds.keys()) for figure in drawn}
    takes = {name: sum(seconds[e] for e in needed) for name, (_, needed) in by_name.items()}
    levels = sorted(set(takes.values()), reverse=True)
    experiments: dict[str, int] = {}
    others: dict[str, int] = {}
    for name, (figure, needed) in by_name.items():
        rank = 1 + levels.index(takes[name])
        for e in needed:
            experiments[e] = max(rank, experiments.get(e, 0))
        for target in with_dependencies(figure):
            key = f"{target.kind}/{target.name}"
            others[key] = max(rank, others.get(key, 0))
    return experiments, others
