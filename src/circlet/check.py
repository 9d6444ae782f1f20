"""Try all parts of a collection, to find errors before a job does, hours later.

Names in declarations are checked as by a plan. Each system then trains a few runs for a few
steps, from which tables and figures are made twice: as they are, and as if all had diverged.
"""

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from circlet import build
from circlet.errors import CircletError, ConfigError
from circlet.storage import parquet
from circlet.study import (
    declared_systems,
    interventions,
    planning,
    registry,
    targets,
    user_collections,
)
from circlet.study.blocks import Block
from circlet.study.declarations import KINDS, declared
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.seeds import Seeds
from circlet.systems.spec import Parameter, SystemSpec
from circlet.training import autograd, job, verify
from circlet.training.run import run_group

RUNS, STEPS = 3, 25
CLOSE = 1e-6  # relative, of float64
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Finding:
    """The result of one check: its subject and the finding."""

    subject: str
    text: str
    result: Literal["ok", "error", "note"] = "ok"


def collection(path: Path) -> Iterator[Finding]:
    """Yield the results of all checks of a collection; raises ConfigError if it is invalid."""
    user_collection = registry.find([str(path)])[-1]
    subject, collections = user_collection.name, (*registry.SHIPPED, user_collection)
    user_collections.check(declared_systems.Systems(collections))
    yield Finding(subject, f"declares {_count(user_collection)}; names of its parts are valid")
    for name in user_collection.modules("interventions"):
        yield from _tried(name, _intervention(user_collection, name))
    with tempfile.TemporaryDirectory() as folder:
        study, good = _study(user_collection, Path(folder) / "results"), True
        if study is None:
            text = "names no system: its tables and figures were not checked"
            yield Finding(subject, text, "note")
            return
        for block in study.blocks:
            is_system = block.point.experiment.startswith("system_")
            if is_system and block.point.system.name in user_collection.modules("systems"):
                for finding in _tried(block.point.system.name, _of_system(block)):
                    yield finding
                    good &= finding.result != "error"
        if not good:
            yield Finding(subject, "its tables and figures were not checked", "note")
            return
        yield from _targets(user_collection, study, "of a few runs")
        yield from _targets(
            user_collection, _diverged(study, Path(folder) / "diverged"), "if all diverged"
        )


def _count(user_collection: Collection) -> str:
    kinds = ["systems", "tables", "figures"]
    kinds += ["interventions"] * bool(user_collection.modules("interventions"))
    numbers = [(kind, len(user_collection.modules(kind))) for kind in kinds]
    return ", ".join(f"{n} {kind if n != 1 else kind[:-1]}" for kind, n in numbers)


def _tried(subject: str, tried: Iterator[str]) -> Iterator[Finding]:
    """Yield the results of one part, up to its first error, then each distinct warning."""
    results = []
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            for text in tried:
                results.append(Finding(subject, text))
        except CircletError as error:
            results.append(Finding(subject, str(error), "error"))
        except Exception as error:  # any exception in an author's code is a finding
            place = registry.place_in_user_code(error)
            line = " ".join(f"{type(error).__name__}: {error}".split())
            results.append(Finding(subject, f"{place}: {line}" if place else line, "error"))
    yield from results
    for text in dict.fromkeys(" ".join(str(warning.message).split()) for warning in shown):
        yield Finding(subject, text, "note")


# The study that the checks run.


def _study(user_collection: Collection, results: Path) -> Study | None:
    """Return a study with an experiment of each system at its defaults, and of each role.

    The systems are those of the collection, and those that its tables and figures name.
    """
    all_systems = declared_systems.Systems([user_collection, *registry.SHIPPED])
    names = [*user_collection.modules("systems")]
    for kind in ("tables", "figures"):
        for module in user_collection.modules(kind).values():
            names += declared(KINDS[kind], module).systems
    systems = {name: all_systems[name] for name in names}
    logs = [log.schedule or {} for system in systems.values() for log in system.logs.values()]
    steps = max([STEPS, *(step for log in logs for step in log.get("at", ()))])
    usual = {"steps": steps, "seeds": {"count": RUNS}, "block": RUNS, "dtype": "float64"}
    config: dict[str, Any] = {"results": str(results), "collections": [str(user_collection.folder)]}
    config["experiments"] = {
        f"system_{name.replace('.', '_')}": usual | {"system": name} for name in systems
    }
    for name, role in user_collection.roles.items():
        needs = role.needs
        experiment = f"role_{name.rpartition('.')[2]}"
        fixed = {k: value for k, value in needs.holds.items() if not isinstance(value, str)}
        settings = usual | {"system": needs.system, "parameters": fixed}
        parameters = all_systems[needs.system].parameters
        swept = (k for k in needs.varies if k in parameters)
        settings["sweep"] = {k: _two_values(parameters[k]) for k in [*swept][:1]}
        trial = config | {
            "experiments": config["experiments"] | {experiment: settings},
            "reproduce": config.get("reproduce", {}) | {name: experiment},
        }
        try:
            planning.plan(trial)
        except ConfigError:
            continue  # no experiment that fits the role could be guessed
        config = trial
    return planning.plan(config) if config["experiments"] else None


def _two_values(parameter: Parameter) -> list[Any]:
    """Return the default of a parameter, and another value."""
    default, limits = parameter.default, parameter.limits
    match parameter.type:
        case "boolean":
            return [default, not default]
        case "string":
            return list(limits.get("enum", [default])[:2])
        case "integer":
            return [default, default + (1 if default < limits.get("maximum", default + 1) else -1)]
    other = 2 * default if default else 1.0
    return [default, other if other < limits.get("maximum", np.inf) else default / 2]


def _intervention(user_collection: Collection, name: str) -> Iterator[str]:
    """Apply an intervention to the first system that accepts it: first the collection's."""
    failed: dict[str, Exception] = {}
    for system in declared_systems.Systems([user_collection, *registry.SHIPPED]).values():
        try:
            _apply(name, system)
        except Exception as error:
            failed[system.name] = error
        else:
            others = f", not to {', '.join(failed)}" if failed else ""
            yield f"can be applied to {system.name}{others}"
            return
    raise next(iter(failed.values()))


def _apply(name: str, system: SystemSpec) -> None:
    """Apply an intervention to a run at the defaults, which is also its parent."""
    schemas, seeds = interventions.schemas(name), Seeds(0, 0, 0, 0)
    arguments = {k: schema["default"] for k, schema in schemas.items() if "default" in schema}
    arrays = autograd.equations(system).initial(system.defaults, seeds)
    size = max(0, len(arrays.get("embedding", ())) - 1) // 2
    parent = arrays if interventions.reads(name) == "parameters" else {"signals": np.ones(size)}
    interventions.apply(name, arguments, arrays, seeds.stream("intervention"), parent)


# Systems.


def _of_system(block: Block) -> Iterator[str]:
    """Yield the checks of a system, ordered so that errors are easiest to understand."""
    point = block.point
    equations = autograd.equations(point.system)
    arrays = equations.initial(point.parameters, point.seeds(0))
    numbers = sum(array.size for array in arrays.values())
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    yield f"a run has {numbers} values: {shapes}"
    if isinstance(equations, autograd.FromLoss):
        worst = verify.verify(point, point.all_seeds, CPU, steps=STEPS)
        yield f"{RUNS} runs of {STEPS} steps equal a plain PyTorch loop (within {worst:.0e})"
    else:
        if point.system.batched:
            yield _together(point)
        if hasattr(equations, "gradients"):
            yield _slope(point)
    if point.system.steps_per_epoch and "batch_size" in point.parameters:
        yield _epoch(point)
    yield _logs(block)


def _weights(point: Point, seeds: list[int]) -> dict[str, Tensor]:
    """Return the arrays of the runs with these seeds after all steps, stacked by run."""
    *_, group = run_group(point, seeds, CPU)
    return group.stack.arrays


def _together(point: Point) -> str:
    """Check that runs trained together equal runs trained alone."""
    seeds = [*point.all_seeds]
    stacked, worst = _weights(point, seeds), 0.0
    for i, seed in enumerate(seeds):
        for name, values in _weights(point, [seed]).items():
            difference = (stacked[name][i] - values[0]).abs().max().item()
            worst = max(worst, difference / max(1.0, values.abs().max().item()))
            if not difference <= CLOSE * max(1.0, values.abs().max().item()):
                raise CircletError(
                    f"{name} of seed {seed} differs by {difference:.2g} after {point.steps} steps "
                    "between training alone and training together with other runs: each run must "
                    "depend only on its own seed and its own row of every array"
                )
    return (
        f"{RUNS} runs of {point.steps} steps trained together equal runs trained alone (within "
        f"{worst:.0e})"
    )


def _epoch(point: Point) -> str:
    """Check that the steps of an epoch pass over the train set once."""
    equations, seeds = autograd.equations(point.system), [point.seeds(0)]
    data = equations.data(point.parameters, seeds, torch.float64, CPU)
    if not isinstance(data, autograd.Examples):
        return "the steps of an epoch were not checked: the system makes its own batches"
    n = autograd.count(data.parts["train"])
    size = min(point.parameters["batch_size"] or n, n)  # 0: the whole train set
    if point.steps_per_epoch != -(-n // size):
        raise CircletError(
            f"{registry.path_of(point.system.module)}: SYSTEM: steps_per_epoch gives "
            f"{point.steps_per_epoch} at the defaults, but {n} examples in batches of {size} take "
            f"{-(-n // size)}"
        )
    return f"an epoch is {point.steps_per_epoch} steps"


def _slope(point: Point) -> str:
    """Check the gradient of each array against finite differences of the train loss."""
    if "train_loss" not in point.system.metrics:
        return "the gradient was not checked: the system has no metric train_loss"
    equations = autograd.equations(point.system)
    runs = point.all_seeds if point.system.batched else point.all_seeds[:1]
    seeds = [point.seeds(seed) for seed in runs]
    arrays = [equations.initial(point.parameters, run_seeds) for run_seeds in seeds]
    weights = {k: torch.as_tensor(np.stack([a[k] for a in arrays])).double() for k in arrays[0]}
    data = equations.data(point.parameters, seeds, torch.float64, CPU)
    gradients = {k: torch.zeros_like(values) for k, values in weights.items()}
    equations.gradients(weights, data, gradients)
    for name, gradient in gradients.items():
        length = gradient.flatten(1).norm(dim=1)
        unit = gradient / length.clamp_min(1e-30).view(-1, *[1] * (gradient.dim() - 1))
        there, back = (
            equations.metrics(weights | {name: weights[name] + step * unit}, data)["train_loss"]
            for step in (1e-5, -1e-5)
        )
        slope = (there - back) / 2e-5
        if not torch.allclose(slope, length, rtol=1e-3, atol=1e-6):
            raise CircletError(
                f"gradients(): the loss changes by {slope[0]:.4g} along the gradient of {name}, "
                f"whose length is {length[0]:.4g}"
            )
    return "gradients() agree with finite differences of train_loss"


def _logs(block: Block) -> str:
    """Run a job, and check that its logs can be read."""
    job.run_block(block, "cpu")
    rows = {kind: len(parquet.read_log(block, kind)) for kind in block.point.logs}
    return f"logs: {', '.join(f'{kind} {n} rows' for kind, n in rows.items())}"


# Tables and figures.


def _diverged(study: Study, results: Path) -> Study:
    """Copy the study's logs as if every run had diverged: floats are NaN."""
    other = study.staged(results)
    for block, original in zip(other.blocks, study.blocks, strict=True):
        for kind in block.point.logs:
            if not original.log(kind).exists():
                continue
            table = parquet.read(original.log(kind))
            for i, field in enumerate(table.schema):
                if pa.types.is_floating(field.type):
                    nothing = pa.array(np.full(len(table), np.nan), field.type)
                    table = table.set_column(i, field, nothing)
                elif field.name == "status":
                    statuses = pc.if_else(pa.scalar(True), "diverged", table["status"])
                    table = table.set_column(i, field, statuses)
            parquet.write(table, block.log(kind), parquet.footer(original.log(kind)))
    return other


def _targets(user_collection: Collection, study: Study, when: str) -> Iterator[Finding]:
    """Make the tables and figures of a collection, and the tables and logs that they need."""
    ordered = targets.ordered(study)
    made = {f"{target.kind}/{target.name}": target for target in ordered}
    mine = [
        f"{kind}/{name}" for kind in ("tables", "figures") for name in user_collection.modules(kind)
    ]
    # The tables of what its systems, its run list and its claims name.
    mine[:0] = [f"tables/{name}" for name in ("outcomes", "explorer_runs", "scorecard")
                if f"tables/{name}" in made]  # fmt: skip
    done: set[tuple[str, str]] = set()

    def make(target: targets.Target) -> Iterator[str]:
        all_needed = targets.with_dependencies(target)
        for needed in ordered:
            if needed in all_needed and (needed.kind, needed.name) not in done:
                for block in needed.study.blocks:
                    if not block.log("runs").exists():
                        job.run_block(block, "cpu")
                build.make(needed)
                done.add((needed.kind, needed.name))
        if target.kind == "figures":
            yield "drawn"
        else:
            yield f"{len(parquet.read(target.outputs[0]))} rows"

    for name in mine:
        kind, _, short = name.partition("/")
        if name in made:
            yield from _tried(f"{kind[:-1]} {short} {when}", make(made[name]))
        else:
            yield Finding(
                f"{kind[:-1]} {short}",
                "was not checked: it needs a role whose experiment cannot be guessed, or the runs "
                "of another collection",
                "note",
            )
