"""The systems: equations, one file each, nothing else.

A system's file declares, as plain literals that the plan reads without importing it,

``VERSION``
    raised whenever its numbers change by more than rounding, which differs between machines, too;
    its runs are then made again;
``PARAMETERS``
    JSON schema of each parameter, with ``description`` and ``default``; a ``label`` puts the
    parameter in the name of every point;
``SCHEDULES``
    the logs that its runs have beside ``runs``, and when they are written unless a config says
    otherwise;
``FLOPS_PER_STEP``
    floating-point operations of a run per step, as a formula of the parameters, others than in
    products weighted by what they cost;
``PRODUCT_FLOPS_PER_STEP``
    if not all are: those in products of matrices, which bound the speed from below (`bench`);
``FLOPS_PER_SECOND``
    how many of them one CPU core does, all overheads included, measured on a 2.6 GHz core with
    AVX-512: it only serves to tell minutes from days;
``WEIGHTS``, ``WORKING_VALUES``
    numbers that a run keeps (all that is trained or moved), and those that it holds at the height
    of a step, as formulas of the parameters: the memory that a block asks for;
``CPU_RUNS``
    if stacking runs does not pay on a CPU: how many of a block advance together there, a number or
    a formula;
``REQUIRES``
    if not all values go together: what must hold of a point's parameters, as formulas;
``STEPS_PER_EPOCH``
    if it trains on batches: steps in which it sees the train set once, as a formula;
``SHAPES``
    if its runs can start from others (``transfer``): the parameters in which these must agree, as
    they decide the shapes of the arrays;

and defines

``initial(parameters, seeds)``
    the arrays of one run at step 0, by name, float64; one of them is ``embedding``, (p, d);
``problem(parameters, seeds, dtype, device)``
    what stays fixed during the runs of a block (splits, masks), for a list of seeds;

and either, if it is trained,

``gradients(weights, problem, out)``
    write the gradient of the loss of every run into ``out``;
``batch(problem, step)``
    if it trains on batches: the problem that ``gradients`` sees in a step, from 1. It follows from
    seed and step, as nothing else of it is kept in checkpoints;
``rates(parameters)``
    if some arrays have another learning rate: its multiple, by name;
``curves(weights, problem)``
    losses and accuracies of every run;

or, if it is simulated,

``step(state, problem)``
    advance the state of every run by one step, in place.

Arrays of a block have the runs as their first axis.
"""

import importlib
from types import ModuleType


def load(name: str) -> ModuleType:
    """The module of a system."""
    return importlib.import_module(f"circlet.systems.{name}")
