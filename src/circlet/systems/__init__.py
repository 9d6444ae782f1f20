"""Systems: what each declares (`spec`), and arithmetic that several of them use.

A system is two files of a collection. ``systems/NAME.py`` declares it: ``SYSTEM``, a
`circlet.systems.spec.SystemSpec`; plans import it, so it must not import torch.
``equations/NAME.py`` computes it and is imported by jobs alone. It defines

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
