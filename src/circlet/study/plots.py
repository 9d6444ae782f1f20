"""Plots: the figures of a study's experiments, from its config or by default rules.

Each is drawn by a module in ``plots/`` of a collection, which may be a user's. By default, an
experiment that sweeps nothing has the distributions of its outcomes; one parameter gives curves;
two to four give heat maps; more, or points that are not a grid, give other kinds (`_usual`). If the
system has metrics, their mean curves are drawn, too.
"""

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from circlet.config.model import FigureOptions
from circlet.errors import ConfigError, check_exist, unknown
from circlet.study import registry
from circlet.study.declarations import MAX_PANELS, PLACES, PlotKind, declared
from circlet.study.plan import Study
from circlet.study.swept import fixes_seeds, swept, words

NOTHING = "nothing-to-draw"  # marks a figure without data: reports do not show it as a plot
MAX_FACETS = 2
MAX_SHOWN = 3  # outcomes drawn by default


@dataclass(frozen=True)
class Plot:
    """A figure of one experiment."""

    kind: str
    module: str  # that draws it
    experiment: str
    places: Mapping[str, tuple[str, ...]]  # swept parameters by place
    show: tuple[str, ...]  # outcomes, or metrics
    name: str

    def place(self, where: str) -> str:
        """Return the parameter in a place for at most one, such as x; empty if there is none."""
        return next(iter(self.places.get(where, ())), "")

    @property
    def spec(self) -> dict[str, Any]:
        """The entry of a config's `figures` that yields this plot."""
        places = {k: list(v) if k == "facet" else v[0] for k, v in self.places.items() if v}
        return {self.kind: self.experiment, **places, "show": list(self.show), "name": self.name}


@functools.lru_cache(maxsize=64)
def of(study: Study) -> list[Plot]:
    """Return the plots of a study, in the order of the config; raises ConfigError."""
    modules = registry.modules(study.collections, "plots")
    figures = study.config.figures
    if figures is None:
        # The order in which jobs have the experiments, because their configs are sorted.
        names = sorted(study.config.experiments)
        figures = [figure for name in names for figure in _usual(study, name)]
    plots: dict[str, Plot] = {}
    for i, figure in enumerate(figures):
        plot = _plot(f"figures.{i}", study, modules, figure, plots)
        plots[plot.name] = plot
    return list(plots.values())


def named(study: Study, name: str) -> Plot | None:
    """Return the plot of this name; None if it is no plot, but a figure of a collection."""
    return next((plot for plot in of(study) if plot.name == name), None)


def outcomes(study: Study) -> set[tuple[str, str]]:
    """Return the outcomes that the plots of a study show, each with its experiment."""
    drawn = [plot for plot in of(study) if declared(PlotKind, plot.module).shows == "outcomes"]
    return {(plot.experiment, name) for plot in drawn for name in plot.show}


def _usual(study: Study, name: str) -> list[dict[str, Any]]:
    """Return the default entries of `figures` for an experiment."""
    points, experiment = study.experiment(name), study.config.experiments[name]
    parameters = swept(points)
    sizes = sorted((len(parameter.values) for parameter in parameters), reverse=True)
    n_cells, n_facets = math.prod(sizes), math.prod(sizes[2:])
    if experiment.sample and parameters:
        kinds = ["marginals", "pairs"] if len(parameters) > 1 else ["marginals"]
    elif fixes_seeds(points) or n_cells != len(points):
        kinds = ["points"]
    elif not parameters:
        kinds = ["distributions"]
    elif len(parameters) == 1:
        kinds = ["curves"]
    else:
        kinds = ["heat" if len(parameters) <= 4 and n_facets <= MAX_PANELS else "marginals"]
    has_outcomes = bool(study.outcomes(experiment.system))
    usual: list[dict[str, Any]] = [{kind: name} for kind in kinds if has_outcomes]
    if experiment.compare and has_outcomes:
        usual.append({"forest": name})
    if any("curves" in point.logs for point in points) and points[0].system.metrics:
        usual.append({"trajectories": name})
    return usual


def _plot(
    where: str,
    study: Study,
    modules: Mapping[str, str],
    figure: dict[str, Any],
    others: Mapping[str, Plot],
) -> Plot:
    """Return the plot that an entry of the config's `figures` describes."""
    kinds = figure.keys() - set(FigureOptions.__struct_fields__)
    if len(kinds & modules.keys()) == 1 and len(kinds) > 1:
        message = unknown("option", min(kinds - modules.keys()), FigureOptions.__struct_fields__)
        raise ConfigError(f"{where}: {message}")
    if len(kinds) != 1:
        raise ConfigError(f"{where}: must have one kind of plot ({', '.join(sorted(modules))})")
    (kind,) = kinds
    check_exist(where, "kind of plot", modules, kinds)
    experiment = figure[kind]
    check_exist(f"{where}.{kind}", "experiment", study.config.experiments, [experiment])
    declaration = declared(PlotKind, modules[kind])
    places = _places(where, study, figure, kind, declaration)
    system = study.config.experiments[experiment].system
    show = _shown(where, study, figure, system, declaration.shows)
    name = _name(where, study, figure, f"{experiment}_{kind.rpartition('.')[2]}", others)
    return Plot(kind, modules[kind], experiment, places, show, name)


def _places(
    where: str, study: Study, figure: dict[str, Any], kind: str, declaration: PlotKind
) -> dict[str, tuple[str, ...]]:
    """Return the swept parameters in each place of a plot.

    Parameters that the config does not place get the free places.
    """
    allowed, experiment = declaration.places, figure[kind]
    for place in PLACES:
        if place in figure and place not in allowed:
            takes = ", ".join(allowed) or "no parameters"
            raise ConfigError(f"{where}.{place}: a plot of kind {kind} takes {takes}")
    points = study.experiment(experiment)
    parameters = swept(points)
    if len(parameters) < declaration.least:
        raise ConfigError(
            f"{where}: {kind} needs at least {declaration.least} swept parameters, but "
            f"{experiment!r} sweeps {len(parameters) or 'none'}; draw it as "
            f"{'curves' if parameters else 'distributions'}"
        )
    if "comparisons" in declaration.tables and not study.config.experiments[experiment].compare:
        raise ConfigError(
            f"{where}: {kind} shows differences, so {experiment} needs the key `compare`"
        )
    names = [parameter.name for parameter in parameters]
    places = {
        place: tuple([figure[place]] if isinstance(figure[place], str) else figure[place])
        for place in PLACES
        if place in figure
    }
    for place, placed in places.items():
        check_exist(f"{where}.{place}", "swept parameter", names, placed)
    if twice := [n for n in names if sum(n in placed for placed in places.values()) > 1]:
        raise ConfigError(f"{where}: {twice[0]} is given two places")
    # Numbers with many values get axes; words and numbers with few values get other places.
    remaining = sorted(
        (p for p in parameters if not any(p.name in placed for placed in places.values())),
        key=lambda p: (p.is_words, -len(p.values)),
    )
    for place in allowed:
        room, panels = (MAX_FACETS, declaration.most_panels) if place == "facet" else (1, math.inf)
        while place not in figure and remaining and len(places.get(place, ())) < room:
            panels /= len(remaining[0].values)
            if panels < 1:
                break
            places[place] = (*places.get(place, ()), remaining.pop(0).name)
    if not declaration.pools and (remaining or fixes_seeds(points)):
        varied = remaining[0].name if remaining else "seeds"
        raise ConfigError(
            f"{where}: the experiment also varies {varied}, for which {kind} has no place left; "
            "draw it as points, or as marginals, which average over all others"
        )
    return places


def _shown(
    where: str, study: Study, figure: dict[str, Any], system: str, shows: str
) -> tuple[str, ...]:
    """Return the outcomes or metrics that are drawn."""
    if shows == "metrics":
        what, choices = "metric", [*study.specs[system].metrics, *study.derived_metrics(system)]
        usual = list(study.specs[system].metrics)
    else:
        what, choices = "outcome", [outcome.name for outcome in study.outcomes(system)]
        usual = [outcome.name for outcome in study.specs[system].outcomes][:MAX_SHOWN]
        usual += [name for name in choices if name == "delay"]
    check_exist(f"{where}.show", what, choices, figure.get("show", ()))
    return tuple(figure.get("show", usual or choices[:MAX_SHOWN]))


def _name(
    where: str, study: Study, figure: dict[str, Any], usual: str, others: Mapping[str, Plot]
) -> str:
    """Return the name of a plot's file: from the config, or else a unique one."""
    figures = registry.modules(study.collections, "figures")
    if name := figure.get("name"):
        if name in others:
            raise ConfigError(f"{where}.name: another plot is named {name!r}, too")
        if name in figures:
            raise ConfigError(f"{where}.name: there is a figure {name!r}; give another `name`")
        return str(name)
    taken = {*others, *figures}
    names = itertools.chain([usual], (f"{usual}_{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


def caption_intro(study: Study, plot: Plot) -> str:
    """Return the first sentence of a plot's caption: what it shows of which experiment."""
    points = study.experiment(plot.experiment)
    system = points[0].system
    labels = {outcome.name: outcome.label for outcome in study.outcomes(system.name)}
    shown = [labels.get(name, words(name)) for name in plot.show]
    parameters = [words(p.name) for p in swept(points)]
    runs = sorted({point.count for point in points})
    each = f"{runs[0]} runs" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
    if study.whole:
        each += " planned"
    over = f" over {listed(parameters)}" if parameters else ""
    if declared(PlotKind, plot.module).shows == "metrics":
        over = " during training" + (f", by {listed(parameters)}" if parameters else "")
    what = listed(list(dict.fromkeys(shown)))
    per = f"{len(points)} settings with {each} each" if len(points) > 1 else each
    return f"{plot.experiment}: {what}{over}; {per}, {points[0].steps} steps."


def title(plot: Plot) -> str:
    """Return the title of a plot: its experiment and its kind."""
    kind = plot.kind.rpartition(".")[2]
    drawn = {"heat": "phase diagram"}.get(kind, words(kind))
    return f"{words(plot.experiment)}: {drawn}"


def listed(words: list[str], link: str = "and") -> str:
    """Join words as in ``a, b and c``."""
    return f"{', '.join(words[:-1])} {link} {words[-1]}" if len(words) > 1 else "".join(words)
