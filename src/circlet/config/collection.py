"""The keys of a ``collection.yaml``: what a collection says of itself, and its roles."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from circlet.config.experiment import Keys


class Needs(Keys, frozen=True, kw_only=True):
    """What an experiment must be to have a role."""

    system: Annotated[str, Meta(description="Its system.")]
    varies: Annotated[list[str], Meta(description="What it may vary.")] = []
    interventions: Annotated[list[str], Meta(description="The interventions that it has.")] = []
    argument: Annotated[
        str | UnsetType, Meta(description="The argument that its `keep` must have.")
    ] = UNSET
    start: Annotated[
        str | UnsetType, Meta(description="The role of the experiment that it starts from.")
    ] = field(default=UNSET, name="from")
    holds: Annotated[
        dict[str, Any],
        Meta(
            description="Parameters and their values, or the name of the parameter that has the "
            "same value."
        ),
    ] = {}
    logs: Annotated[list[str], Meta(description="Kinds of logs that it must write.")] = []
    every_epoch: Annotated[
        list[str], Meta(description="Kinds of logs that it must write at every epoch.")
    ] = []
    every_signal: Annotated[
        int | UnsetType,
        Meta(description="The step to which signals must be logged at every step."),
    ] = UNSET


class Role(Keys, frozen=True, kw_only=True):
    """An experiment that a table or a figure is made from."""

    description: Annotated[str, Meta(description="What is made from the experiment.")]
    needs: Annotated[Needs, Meta(description="What the experiment must be.")]
    tables: Annotated[
        list[str],
        Meta(
            description="Tables of circlet that also have its runs, such as `losses` for figures "
            "of curves."
        ),
    ] = []


class CollectionFile(Keys, frozen=True, kw_only=True):
    """What a collection says of itself."""

    short: Annotated[str, Meta(description="How pages name it.")] = ""
    authors: Annotated[str, Meta(description="Of the paper, if it is about one.")] = ""
    title: Annotated[str, Meta(description="Of the paper or the subject.")] = ""
    year: Annotated[int | None, Meta(description="Of the paper, if it is about one.")] = None
    identifier: Annotated[
        str, Meta(description="Where the paper is found, as arXiv:2405.17420.")
    ] = ""
    references: Annotated[
        dict[str, str],
        Meta(
            description="Other sources of published values, beside the paper: a name, and how to "
            "cite it."
        ),
    ] = {}
    question: Annotated[
        str, Meta(description="What is asked, in a sentence or two, for the report.")
    ] = ""
    headlines: Annotated[
        list[str],
        Meta(description="The claims that it is known by, for the first screen of the report."),
    ] = []
    methods: Annotated[
        str, Meta(description="What is done, in a few sentences, for the report.")
    ] = ""
    introductions: Annotated[
        dict[str, str],
        Meta(
            description="What each of its systems learns, in two sentences for a reader who knows "
            "nothing of it; by name, for the explorer."
        ),
    ] = {}
    terms: Annotated[
        dict[str, str],
        Meta(description="Words of its pages and what they mean, for the explorer."),
    ] = {}
    outcomes: Annotated[
        str,
        Meta(description="What the outcomes of its runs mean, for the explorer and the report."),
    ] = ""
    figures: Annotated[
        dict[str, str] | list[str],
        Meta(
            description="Its figures in the order of the report, each with its title, or as a "
            "list. Those that are not named follow by name."
        ),
    ] = {}
    roles: Annotated[
        dict[str, Role],
        Meta(
            description="What a config can name under `reproduce`, so that a table or a figure is "
            "made from an experiment."
        ),
    ] = {}
