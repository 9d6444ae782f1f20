"""Systems: types of their declarations (`spec`), and arithmetic that several systems use.

A system is two files of a collection. ``systems/NAME.py`` declares it: ``SYSTEM``, a
`circlet.systems.spec.SystemSpec`; plans import it, so it must not import torch.
``equations/NAME.py`` computes it and is imported by jobs alone. ``parameters`` are those of a
point, by name, and ``seeds`` a `circlet.study.seeds.Seeds`, with random streams.

A network and its loss
----------------------
Functions of one run. circlet stacks the runs and differentiates (`circlet.training.autograd`).

``network(parameters, seeds)``
    The ``torch.nn.Module`` of a run at step 0. PyTorch's random numbers follow the run's network
    seed and, for the embedding, its embedding seed.
``data(parameters, seeds)``
    ``{"train": ..., "test": ...}``: tensors or numpy arrays, or dictionaries, tuples or lists of
    them. Their first axis counts examples. Floats become the dtype of the run.
``loss(network, examples)``
    One number: the loss on the train examples or on a batch of them.
``metrics(network, parts)``
    Optional: the values of ``SYSTEM.metrics`` by name, from all that ``data`` returned. Without it
    the metrics are ``train_loss`` and ``test_loss``.
``learning_rate_multipliers(parameters)``
    Optional: multiples of the learning rate by name of the weight, where they are not 1.
``weight_decay_multipliers(parameters)``
    Optional: multiples of the weight decay by name of the weight, where they are not 1.
``gradients(weights, examples, out)``
    Optional: as below; ``examples`` are the train examples of all runs.

In place of ``network`` there may be ``initial``, as below; then ``loss`` and ``metrics`` get the
weights of one run by name.

A gradient of its own
---------------------
``initial(parameters, seeds)``
    The arrays of one run at step 0 by name, float64 numpy arrays of the same shapes for all seeds.
    If ``SYSTEM.embedding`` says so, one of them is ``embedding``, shape (tokens, d).
``learning_rate_multipliers(parameters)``, ``weight_decay_multipliers(parameters)``
    As above.
``train_mask(parameters, seeds)``
    Optional, for the explorer: whether the run is trained on each pair of tokens, in lexicographic
    order. Bool, for all p^2 ordered pairs or for the p (p + 1) / 2 with a <= b.
``forward(weights, parameters, left, right)``
    Needed for the panel ``ordered_answers``, and for tables about the inside of the network. It
    returns, for one run and embeddings (*pairs, d) of the first and of the second numbers, a hidden
    layer before its activation, and the logits (*pairs, p).
``data(parameters, seeds, dtype, device)``
    The data that stay fixed during runs (train and test sets, masks), for a list of seeds.

From here on arrays have the runs as their first axis.

``batch(data, step)``
    Optional: the data for ``gradients`` in a step, counted from 1. They must follow from seed and
    step alone, because checkpoints do not contain them. By default, every step gets all ``data``.
``gradients(weights, data, out)``
    Write the gradient of every run's loss into the arrays of ``out``, which have the names and
    shapes of ``weights``; the optimiser then takes the step.
``metrics(weights, data)``
    The values of ``SYSTEM.metrics``, by name, each of shape (runs,).

A simulation
------------
``initial`` and ``data`` are as in the previous section.

``step(state, data)``
    Advance the arrays of every run by one step, in place.

An array of another shape raises a CircletError that names it (`circlet.training.shapes`).
"""
