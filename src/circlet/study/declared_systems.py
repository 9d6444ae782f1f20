"""The systems of collections by name, with defaults for what their declarations leave out."""

import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from circlet.config.experiment import Logs
from circlet.errors import ConfigError, check_exist
from circlet.study.registry import Collection, explained, path_of
from circlet.systems.parameters import CURVES, signals
from circlet.systems.spec import Log, Metric, Outcome, SystemSpec

OF_EMBEDDING = {"embeddings", "signals", "gradients"}  # logs that need an embedding
LOSSES = {
    "train_loss": Metric("loss on the train set"),
    "test_loss": Metric("loss on the test set"),
}


class Systems(Mapping[str, SystemSpec]):
    """The systems of some collections by name, each imported at its first look-up."""

    def __init__(self, collections: Iterable[Collection]):
        self.collections = tuple(collections)
        self._owners = {name: c for c in self.collections for name in c.modules("systems")}

    def __getitem__(self, name: str) -> SystemSpec:
        """Return the system of this name; raises KeyError, or ConfigError if it is not valid."""
        return _spec(name, self._owners[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners)

    def __len__(self) -> int:
        return len(self._owners)


@functools.cache
def _spec(name: str, collection: Collection) -> SystemSpec:
    module = collection.modules("systems")[name]
    path = path_of(module)
    with explained(path):
        system = getattr(importlib.import_module(module), "SYSTEM", None)
    if not isinstance(system, SystemSpec):
        raise ConfigError(f"{path}: must declare SYSTEM = circlet.systems.spec.SystemSpec(...)")
    check_exist(f"{path}: SYSTEM", "log", Logs.__struct_fields__, system.logs)
    if not system.embedding and (spectral := system.logs.keys() & OF_EMBEDDING):
        raise ConfigError(
            f"{path}: SYSTEM: the log {min(spectral)!r} needs an embedding; give its name, as in "
            "embedding='embed.weight'"
        )
    *package, _, stem = module.split(".")
    equations = ".".join([*package, "equations", stem])
    metrics = system.metrics or (LOSSES if system.is_trained else {})
    outcomes = system.outcomes or tuple(
        Outcome(name, name.replace("_", " "), "mean", unit=metric.unit)
        for name, metric in metrics.items()
    )
    return replace(
        system,
        name=name,
        module=module,
        equations=equations,
        metrics=metrics,
        logs=system.logs or _usual_logs(system),
        outcomes=tuple(replace(o, table=collection.resolved("tables", o.table)) for o in outcomes),
    )


def _usual_logs(system: SystemSpec) -> dict[str, Log]:
    """Return the default logs of a system that declares none."""
    logs = {"curves": CURVES} if system.is_trained else {}
    if system.embedding:
        if "p" in system.parameters and system.frequencies:
            logs["signals"] = signals(per_decade=20)
        logs["embeddings"] = Log({})
    return logs | {"parameters": Log({})}
