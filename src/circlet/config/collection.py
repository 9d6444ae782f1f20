"""The keys of a ``collection.yaml``: texts about a collection, and its roles."""

from typing import Any

from msgspec import UNSET, UnsetType

from circlet.config.experiment import Keys


class Needs(Keys, frozen=True, kw_only=True):
    """Requirements that an experiment must meet to play a role."""

    system: str
    """The system of the experiment."""
    varies: list[str] = []
    """What the experiment may vary: parameters, seeds, arguments of interventions."""
    interventions: list[str] = []
    """The interventions that the experiment must have."""
    argument: str | UnsetType = UNSET
    """The argument that the intervention `keep` must have."""
    holds: dict[str, Any] = {}
    """Required values of parameters. A name means the value of that parameter."""
    logs: list[str] = []
    """Kinds of logs that the experiment must write."""
    every_epoch: list[str] = []
    """Kinds of logs that the experiment must write at every epoch."""
    every_signal: int | UnsetType = UNSET
    """The step to which signals must be logged at every step."""


class Role(Keys, frozen=True, kw_only=True):
    """A purpose of an experiment: tables and figures that are made from it."""

    description: str
    """The tables, figures or answers that the experiment provides."""
    needs: Needs
    """Requirements of the experiment."""
    tables: list[str] = []
    """Further tables that include these runs, such as `losses` for figures of curves."""


class CollectionFile(Keys, frozen=True, kw_only=True):
    """Metadata of a collection."""

    short: str = ""
    """Short name of the collection on pages."""
    authors: str = ""
    """Authors of the paper."""
    title: str = ""
    """Title of the paper or subject."""
    year: int | None = None
    """Year of the paper."""
    identifier: str = ""
    """Identifier of the paper, such as arXiv:2405.17420."""
    references: dict[str, str] = {}
    """Further sources of published values: citations by name."""
    question: str = ""
    """The research question in one or two sentences, for the report."""
    headlines: list[str] = []
    """The main claims, for the first screen of the report."""
    methods: str = ""
    """The methods in a few sentences, for the report."""
    introductions: dict[str, str] = {}
    """An introduction to each system by name, in a few sentences for newcomers, for the
    explorer."""
    terms: dict[str, str] = {}
    """Definitions by term, for the explorer."""
    outcomes: str = ""
    """Definitions of the outcomes of runs, for the explorer and the report."""
    figures: dict[str, str] | list[str] = {}
    """Figures in the order of the report: titles by name, or a list of names. The others follow in
    alphabetical order."""
    roles: dict[str, Role] = {}
    """Roles that a config can assign to experiments under `reproduce`."""
