"""Cost of blocks: operations, computing time, memory.

Time is measured on this machine. Memory follows from the config for systems that declare it; for
others it is measured, too.
"""

import math

from circlet.study import measured
from circlet.study.blocks import Block, balanced_group_size
from circlet.study.points import Point

STEP_SECONDS = 2e-4  # overhead of a step in PyTorch, however small the tensors are
# Python with its libraries: 310 MB, or 100 more where the system maps more of their files at once.
PROCESS_MB = 550
NAMES_BYTES = 100  # most bytes for the names of all arrays of a network


def value_bytes(point: Point) -> int:
    """Return the size (bytes) of one number in the tensors of a point."""
    return 8 if point.settings.dtype == "float64" else 4


def weights(point: Point) -> float:
    """Return how many numbers a run keeps: all that are trained or moved."""
    if point.system.weights:
        return point.system.weights(**point.parameters)
    return measured.of(point).weights


def activations(point: Point) -> float:
    """Return how many numbers a run holds at the peak of a step."""
    if point.system.activations:
        return point.system.activations(**point.parameters)
    return measured.of(point).activations


def embedding(point: Point) -> tuple[int, int]:
    """Return the number of tokens and the dimension of the embedding; zeros if there is none."""
    if not point.system.embedding:
        return 0, 0
    if point.system.is_measured:
        return measured.of(point).embedding
    return point.parameters["p"], point.parameters["d"]


def cpu_batch(block: Block) -> int:
    """Return how many runs of a block advance together on a CPU."""
    if block.point.system.is_measured:
        return balanced_group_size(block.count, measured.of(block.point).together)
    return block.point.cpu_batch(block.count)


def record_bytes(point: Point, kind: str) -> float:
    """Return the bytes that one run and step of a log take, in all forms on the way to disk."""
    row, value = 150, 26
    p, d = embedding(point) if kind in ("signals", "gradients", "embeddings") else (0, 0)
    sizes = {
        "runs": row,
        "curves": row,
        "signals": row * p / 2,
        "gradients": row * p / 2,
        "embeddings": p * (row + value * d),
        "parameters": 10 * row + (value * weights(point) if kind == "parameters" else 0),
        "gradient_norms": 10 * row,
    }
    return sizes[kind]


def values(point: Point, kind: str) -> float:
    """Return the most values of a list or text in a log for a run and step; 1 if not measured."""
    has_cost = not point.system.is_measured or measured.cached(point)
    match kind:
        case "embeddings" if has_cost:
            return math.prod(embedding(point))
        case "parameters" if has_cost:
            return max(weights(point), NAMES_BYTES)
        case "gradient_norms":
            return NAMES_BYTES
    return 1


def cpu_seconds(block: Block) -> float:
    """Return the expected computing time of a block on one CPU core of this machine.

    If a system declares its operations and no kernel trains it, their time is that in PyTorch on a
    core with AVX-512.
    """
    point = block.point
    if kernel := measured.of_kernel(point):
        recorded = sum(point.n_logged(k) * s for k, s in kernel.records.items())
        return block.count * (point.steps * kernel.step + recorded)
    size = cpu_batch(block)
    groups = math.ceil(block.count / size)
    if not point.system.is_measured:
        return _declared_seconds(block) + point.steps * groups * STEP_SECONDS
    measured_cost = measured.of(point)
    evaluations = point.n_logged("curves") if "curves" in point.logs else 0
    training = point.steps * groups * measured_cost.step_seconds(size)
    return training + block.count * evaluations * measured_cost.evaluation


def _declared_seconds(block: Block) -> float:
    """Return the seconds for the operations that a system declares, equal on all machines."""
    point = block.point
    assert point.system.flops_per_step
    flops = block.count * point.steps * point.system.flops_per_step(**point.parameters)
    return flops / point.system.flops_per_second


def job_seconds(block: Block) -> float:
    """Return the expected computing time of a block with the start of its job."""
    start = (1 if measured.of_kernel(block.point) else 3) * measured.start()  # or in PyTorch
    return start + cpu_seconds(block)


def target_seconds() -> float:
    """Return the expected computing time of a table, figure or page.

    Targets of config/config.yaml take 1.8 times the start-up time of a process on average, as forks
    of the job server, which do not import anything again.
    """
    return 1.8 * measured.start()


def minutes(block: Block, is_grouped: bool = False) -> int:
    """Return the minutes that a block's job requests: ample, as machines differ and are shared.

    If a job needs more, nothing is lost: it resumes from its checkpoint when it is tried again.
    Blocks of a group request less for their start, as their minutes are added.
    """
    return (2 if is_grouped else 10) + math.ceil(4 * cpu_seconds(block) / 60)


def gpus(block: Block) -> int:
    """Return the number of GPUs that a job requests: 1 if a core would take minutes, else 0.

    If operations are declared, they decide, so that the answer is the same on all machines.
    """
    is_measured = block.point.system.is_measured
    return int((cpu_seconds if is_measured else _declared_seconds)(block) >= 120)


def memory_mb(block: Block, on_gpu: bool = False) -> int:
    """Return the main memory (MB) of a block's job: process, tensors, and logs until it ends."""
    point = block.point
    logs = block.count * sum(
        record_bytes(point, kind) * point.n_logged(kind) for kind in point.logs[1:]
    )
    # The factor includes the checkpoint made from the logs. Not all freed memory returns to the
    # system, so peaks of the same block differ by a third.
    logs *= 1.7
    if on_gpu:  # tensors are in the GPU's memory, the driver's libraries in main memory
        return 3000 + math.ceil(logs / 1e6)
    # Weights: the state, its gradient, and AdamW's two moments with intermediate results.
    # Measured activations count only what a gradient needs.
    n_values = activations(point) * (3 if point.system.is_measured else 1) + 8 * weights(point)
    if point.system.is_measured:
        n_values += 2 * measured.of(point).data
    tensors = value_bytes(point) * n_values * cpu_batch(block)
    if point.system.is_measured:
        tensors += value_bytes(point) * measured.of(point).evaluated
    return PROCESS_MB + math.ceil((1.2 * tensors + logs) / 1e6)
