"""Print the CPU time of a step of the plain loop, per system of the papers: python tests/plain."""

import itertools
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import plain
from circlet.bench import training
from circlet.training.run import settle_torch

if __name__ == "__main__":
    settle_torch()
    for system in sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py")):
        point = training.point(system, 1)
        run = plain.one(system, point.parameters, point.seeds(0), torch.float32)
        numbers = itertools.count(1)

        def act(run=run, numbers=numbers):
            run.step(next(numbers))
            return 1

        times = training.measure(system, {("plain", 1): act})["ms"]["plain"]
        print(f"{system}: {1000 * times['min']:.4g} µs")
