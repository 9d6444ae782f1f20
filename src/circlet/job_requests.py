"""What jobs request from Snakemake and from a cluster, within the limits of a profile.

This module does not import Snakemake: it gets the object ``workflow`` of the rules.
"""

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from circlet.study import cost
from circlet.study.blocks import Block

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

GROUP = "short"  # as profiles call it: blocks of which one job trains several
SHORT = 60.0  # expected seconds of computing time below which a block is in this group


class Requests:
    """Requests of the jobs of one use of the workflow; ``block`` gives the block of wildcards.

    Environment variables tell Snakemakes that run in jobs what the outer one was given.
    """

    def __init__(
        self, workflow: "Workflow", storage: str, block: Callable[[Any], Block], is_outer: bool
    ):
        self.workflow, self.storage, self.block = workflow, storage, block
        self.is_outer = is_outer
        if is_outer:
            os.environ["CIRCLET_GPUS"] = str(self.provided("gpu") or 0)
            os.environ["CIRCLET_GPU_SHARES"] = str(self.provided("gpu_shares") or 1)
            os.environ["CIRCLET_GROUP"] = "1"
        workflow.register_envvars("CIRCLET_GPUS", "CIRCLET_GPU_SHARES", "CIRCLET_GROUP")

    @property
    def group_size(self) -> int:
        """The most short blocks of one job; 1 if each is a job of its own."""
        settings = self.workflow.group_settings  # known only after all rules have been read
        # Without the limit of one slot, Snakemake would request the memory of all blocks together.
        if self.is_outer and settings and self.provided("group_slot") and not self.storage:
            os.environ["CIRCLET_GROUP"] = str(settings.group_components.get(GROUP, 1))
        return int(os.environ["CIRCLET_GROUP"])

    def provided(self, name: str) -> Any:
        """Return the total of a resource that a profile gives; None if it gives none."""
        resource = self.workflow.global_resources.get(name)
        return resource and resource.value

    def memory(self, megabytes: float, attempt: int) -> float:
        """Return the memory (MB) that a job requests: doubled at each try, up to a limit."""
        # On a cluster two more Snakemakes run in the job, and wait for the command.
        needed = megabytes + (0 if self.workflow.local_exec else 500)
        # AWS Batch takes whole GiB only: its plugin replaces any other number by the least one.
        needed = math.ceil(needed / 1024) * 1024 if self.storage else needed
        return min(needed * 2 ** (attempt - 1), self.provided("max_mem_mb") or math.inf)

    def runtime(self, minutes: float, attempt: int, jobs: int = 1) -> float:
        """Return the minutes that a job requests: doubled at each try, up to a profile's limit.

        If ``jobs`` are in one group, Snakemake requests the sum of their minutes.
        """
        limit = self.provided("max_runtime")
        return min(minutes * 2 ** (attempt - 1), max(1, limit // jobs) if limit else math.inf)

    def block_memory(self, wildcards: Any, attempt: int) -> float:
        """Return the memory (MB) that the job of a block requests."""
        on_gpu = self.gpus(wildcards) > 0
        return self.memory(cost.memory_mb(self.block(wildcards), on_gpu), attempt)

    def block_runtime(self, wildcards: Any, attempt: int) -> float:
        """Return the minutes that the job of a block requests."""
        is_grouped = self.group(wildcards) is not None
        minutes = cost.minutes(self.block(wildcards), is_grouped)
        return self.runtime(minutes, attempt, self.group_size if is_grouped else 1)

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs that the job of a block requests."""
        return min(cost.gpus(self.block(wildcards)), int(os.environ["CIRCLET_GPUS"]))

    def whole_gpus(self, wildcards: Any) -> int | None:
        """Return the GPUs for the job of a block alone; None if it needs none, or a shard."""
        return None if self.shard(wildcards) else self.gpus(wildcards) or None

    def shard(self, wildcards: Any) -> str | None:
        """Return what SLURM calls a share of a GPU, if the profile lets jobs share GPUs."""
        # On one machine Snakemake counts jobs on GPUs, and locks assign the shares.
        is_shared = int(os.environ["CIRCLET_GPU_SHARES"]) > 1 and not self.workflow.local_exec
        return "shard:1" if is_shared and self.gpus(wildcards) else None

    def group(self, wildcards: Any) -> str | None:
        """Return the group of a block; None if it is a job of its own.

        A block that starts from others is, because a group must not depend on itself.
        """
        block = self.block(wildcards)
        is_alone = (
            self.group_size < 2
            or block.point.parent
            or self.gpus(wildcards)
            or cost.cpu_seconds(block) >= SHORT
        )
        return None if is_alone else GROUP
