"""What blocks cost: operations, computing time, memory.

Time is measured on this machine. Memory follows from the config for systems that declare it; for
others it is measured, too.
"""

import math

from circlet.study import measured
from circlet.study.block_sizes import balanced_group_size
from circlet.study.blocks import Block
from circlet.study.points import Point

STEP_SECONDS = 2e-4  # overhead of a step in PyTorch, however small the tensors are
NAMES_BYTES = 100  # most bytes for the names of all arrays of a network


def value_bytes(point: Point) -> int:
    """Size of one number of its tensors."""
    return 8 if point.settings.dtype == "float64" else 4


def product_flops(point: Point) -> float:
    """Operations of the matrix products of a step of a run, counted in single precision."""
    formula = point.system.product_flops_per_step or point.system.flops_per_step
    assert formula
    return formula(**point.parameters) * value_bytes(point) / 4


def weights(point: Point) -> float:
    """How many numbers a run keeps."""
    if point.system.weights:
        return point.system.weights(**point.parameters)
    return measured.of(point).weights


def activations(point: Point) -> float:
    """How many numbers a run holds at the height of a step."""
    if point.system.activations:
        return point.system.activations(**point.parameters)
    return measured.of(point).activations


def embedding(point: Point) -> tuple[int, int]:
    """Number of tokens, and dimension, of its embedding; zeros if it has none."""
    if not point.system.embedding:
        return 0, 0
    if point.system.is_measured:
        return measured.of(point).embedding
    return point.parameters["p"], point.parameters["d"]


def cpu_batch(block: Block) -> int:
    """How many of its runs advance together on a CPU."""
    if block.point.system.is_measured:
        return balanced_group_size(block.count, measured.of(block.point).together)
    return block.point.cpu_batch(block.count)


def record_bytes(point: Point, kind: str) -> float:
    """Memory for what a log records of one run at one step, in all forms on its way to disk."""
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
    """Most values that a log has of one run at one step in one column of lists or texts.

    1 until a network has been measured.
    """
    known = not point.system.is_measured or measured.known(point)
    match kind:
        case "embeddings" if known:
            return math.prod(embedding(point))
        case "parameters" if known:
            return max(weights(point), NAMES_BYTES)
        case "gradient_norms":
            return NAMES_BYTES
    return 1


def cpu_seconds(block: Block) -> float:
    """Expected computing time of a block on one CPU core of this machine.

    Where a system declares its operations and no kernel trains it, they take the time that they do
    in PyTorch on a core with AVX-512.
    """
    point = block.point
    if kernel := measured.of_kernel(point):
        recorded = sum(point.n_logged(k) * s for k, s in kernel.records.items())
        return block.count * (point.steps * kernel.step + recorded)
    size = cpu_batch(block)
    groups = math.ceil(block.count / size)
    if not point.system.is_measured:
        return _declared_seconds(block) + point.steps * groups * STEP_SECONDS
    own = measured.of(point)
    evaluations = point.n_logged("curves") if "curves" in point.logs else 0
    training = point.steps * groups * own.step_seconds(size)
    return training + block.count * evaluations * own.evaluation


def _declared_seconds(block: Block) -> float:
    """Seconds of the operations that its system declares, the same on all machines."""
    point = block.point
    assert point.system.flops_per_step
    flops = block.count * point.steps * point.system.flops_per_step(**point.parameters)
    return flops / point.system.flops_per_second


def start_seconds() -> float:
    """Computing time in which the job of a table starts here."""
    return measured.start()


def job_start_seconds(block: Block) -> float:
    """Computing time in which the job of a block starts here: PyTorch starts slowly."""
    return (1 if measured.of_kernel(block.point) else 3) * start_seconds()


def job_seconds(block: Block) -> float:
    """Expected computing time of a block with the start of its job."""
    return job_start_seconds(block) + cpu_seconds(block)


def target_seconds() -> float:
    """Expected computing time of a table, a figure or a page with the start of its job.

    Those of config/config.yaml take 3.5 times as long as they start, on average.
    """
    return 3.5 * start_seconds()


def minutes(block: Block) -> int:
    """Time that its job requests: much more than expected, because machines differ and are shared.

    If a job needs more, nothing is lost: it resumes from its checkpoint when it is tried again.
    """
    return 10 + math.ceil(4 * cpu_seconds(block) / 60)


def gpus(block: Block) -> int:
    """Whether a GPU is worth its start: one where a core would take minutes, else none.

    Where operations are declared they decide, so that it is the same on all machines.
    """
    is_measured = block.point.system.is_measured
    return int((cpu_seconds if is_measured else _declared_seconds)(block) >= 120)


def memory_mb(block: Block, on_gpu: bool = False) -> int:
    """Main memory that its job needs: the process, its tensors, and logs until it ends."""
    point = block.point
    logs = block.count * sum(
        record_bytes(point, kind) * point.n_logged(kind) for kind in point.logs[1:]
    )
    # And the checkpoint made from them; what is freed is not all given back, so peaks of the same
    # block differ by a quarter.
    logs *= 1.4
    if on_gpu:  # the tensors are there; the driver's libraries are here
        return 3000 + math.ceil(logs / 1e6)
    # A state, its gradient, and the two moments of AdamW with what it computes them from.
    # Of what is measured, only what a gradient needs was counted.
    held = activations(point) * (3 if point.system.is_measured else 1) + 8 * weights(point)
    if point.system.is_measured:
        held += 2 * measured.of(point).data
    tensors = value_bytes(point) * held * cpu_batch(block)
    if point.system.is_measured:
        tensors += value_bytes(point) * measured.of(point).evaluated
    return 470 + math.ceil((1.2 * tensors + logs) / 1e6)
