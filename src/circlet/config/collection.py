"""The keys of a ``collection.yaml``: texts about a collection, and its roles."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from circlet.config.experiment import Keys


class Needs(Keys, frozen=True, kw_only=True):
    """Requirements that an experiment must meet to play a role."""

    system: Annotated[str, Meta(description="The system of the experiment.")]
    varies: Annotated[
        list[str],
        Meta(
            description="What the experiment may vary: parameters, seeds, arguments of "
            "interventions."
        ),
    ] = []
    interventions: Annotated[
        list[str], Meta(description="The interventions that the experiment must have.")
    ] = []
    argument: Annotated[
        str | UnsetType, Meta(description="The argument that the intervention `keep` must have.")
    ] = UNSET
    holds: Annotated[
        dict[str, Any],
        Meta(
            description="Required values of parameters. A name means the value of that parameter."
        ),
    ] = {}
    logs: Annotated[
        list[str], Meta(description="Kinds of logs that the experiment must write.")
    ] = []
    every_epoch: Annotated[
        list[str], Meta(description="Kinds of logs that the experiment must write at every epoch.")
    ] = []
    every_signal: Annotated[
        int | UnsetType,
        Meta(description="The step to which signals must be logged at every step."),
    ] = UNSET


class Role(Keys, frozen=True, kw_only=True):
    """A purpose of an experiment: tables and figures that are made from it."""

    description: Annotated[
        str, Meta(description="The tables, figures or answers that the experiment provides.")
    ]
    needs: Annotated[Needs, Meta(description="Requirements of the experiment.")]
    tables: Annotated[
        list[str],
        Meta(
            description="Further tables that include these runs, such as `losses` for figures of "
            "curves."
        ),
    ] = []


class CollectionFile(Keys, frozen=True, kw_only=True):
    """Metadata of a collection."""

    short: Annotated[str, Meta(description="Short name of the collection on pages.")] = ""
    authors: Annotated[str, Meta(description="Authors of the paper.")] = ""
    title: Annotated[str, Meta(description="Title of the paper or subject.")] = ""
    year: Annotated[int | None, Meta(description="Year of the paper.")] = None
    identifier: Annotated[
        str, Meta(description="Identifier of the paper, such as arXiv:2405.17420.")
    ] = ""
    references: Annotated[
        dict[str, str],
        Meta(description="Further sources of published values: citations by name."),
    ] = {}
    question: Annotated[
        str, Meta(description="The research question in one or two sentences, for the report.")
    ] = ""
    headlines: Annotated[
        list[str],
        Meta(description="The main claims, for the first screen of the report."),
    ] = []
    methods: Annotated[str, Meta(description="The methods in a few sentences, for the report.")] = (
        ""
    )
    introductions: Annotated[
        dict[str, str],
        Meta(
            description="An introduction to each system by name, in a few sentences for "
            "newcomers, for the explorer."
        ),
    ] = {}
    terms: Annotated[
        dict[str, str],
        Meta(description="Definitions by term, for the explorer."),
    ] = {}
    outcomes: Annotated[
        str,
        Meta(description="Definitions of the outcomes of runs, for the explorer and the report."),
    ] = ""
    figures: Annotated[
        dict[str, str] | list[str],
        Meta(
            description="Figures in the order of the report: titles by name, or a list of names. "
            "The others follow in alphabetical order."
        ),
    ] = {}
    roles: Annotated[
        dict[str, Role],
        Meta(description="Roles that a config can assign to experiments under `reproduce`."),
    ] = {}
