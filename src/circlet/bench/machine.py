"""Properties of the machine, and its measured rates, which bound the training time from below."""

import os
import platform
import time
from collections.abc import Callable
from typing import Any

import torch

from circlet import native
from circlet.storage import provenance
from circlet.study import measured
from circlet.systems.matmul import matmul

SIZE = {"cpu": 1024, "cuda": 8192}  # of the square matrices multiplied
COPIED = 2**28  # bytes, far more than caches hold
REPEATS = 5  # fewest calls; a rate is the best of them


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def rate(work: float, function: Callable[[], Any], device: torch.device, seconds: float) -> float:
    """The best of repeated calls, in units of work per second, on a CPU of its computing time.

    The first call does not count: it includes the first use of memory and the set-up of libraries.
    At least five calls count, even if they take longer than ``seconds``.
    """
    clock = time.perf_counter if device.type == "cuda" else time.process_time

    def call() -> float:
        started = clock()
        function()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return clock() - started

    call()
    times, until = list[float](), time.perf_counter() + seconds
    while len(times) < REPEATS or time.perf_counter() < until:
        times.append(call())
    return work / min(times)


def describe(device: torch.device, seconds: float = 0.5) -> dict[str, Any]:
    """Properties, versions, and measured rates of one thread or of the GPU, float32.

    Rates are the best of repeated calls in ``seconds`` (see ``rate``): of products of large
    matrices, in FLOP/s, by PyTorch's default and by ``circlet.systems.matmul``; of a copy of
    256 MB, bytes read and written per second.
    """
    size = SIZE[device.type]
    a = torch.randn(1, size, size, device=device)
    source = torch.ones(COPIED // 4, device=device)
    target = torch.empty_like(source)
    flops = 2 * size**3
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else device.type,
        "processor": measured.processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "kernels": native.instructions(),
        "no_kernels": native.missing(),
        "cores": cores(),
        "python": platform.python_version(),
        "versions": provenance.made_by()["versions"],
        "torch_flops": rate(flops, lambda: a @ a, device, seconds),
        "flops": rate(flops, lambda: matmul(a, a), device, seconds),
        "copied": rate(2 * COPIED, lambda: target.copy_(source), device, seconds),
    }
