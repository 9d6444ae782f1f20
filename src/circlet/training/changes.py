"""Interventions in training: settings of the optimiser that change by step, and a fixed norm."""

from collections.abc import Mapping
from typing import Any

from circlet.study.interventions import SETTINGS, list_interventions
from circlet.study.points import Point


class Changes:
    """The settings of a point's optimiser by step, and when the norm of its weights is fixed."""

    def __init__(self, point: Point):
        by_name = dict(list_interventions(point.interventions))
        self.parameters: Mapping[str, Any] = point.parameters
        self.warm_up = by_name.get("warm_up")
        self.change, self.clamp = by_name.get("change"), by_name.get("clamp")

    def settings(self, step: int) -> dict[str, float]:
        """Return learning rate and weight decay in a step, counted from 1, if they ever change."""
        changed: dict[str, float] = {}
        if self.change:
            share = min(1.0, max(0, step - self.change["step"]) / self.change["over"])
            first = {k: self.parameters[k] for k in SETTINGS if k in self.change}
            changed = {k: value + share * (self.change[k] - value) for k, value in first.items()}
        if self.warm_up:
            rate = changed.get("learning_rate", self.parameters["learning_rate"])
            changed["learning_rate"] = rate * min(1.0, step / self.warm_up["steps"])
        return changed

    def constant_until(self, done: int, last: int) -> int:
        """Return the step up to which one call can train after ``done`` steps, at most ``last``."""
        if self.clamp and done >= self.clamp["step"]:
            return done + 1
        if self.warm_up and done < self.warm_up["steps"]:
            return done + 1
        begins = [c["step"] for c in (self.change, self.clamp) if c and done < c["step"]]
        if self.change and 0 <= done - self.change["step"] < self.change["over"]:
            begins.append(done + 1)
        return min([last, *begins])
