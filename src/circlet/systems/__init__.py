"""Systems: what each declares (`spec`), and arithmetic that several of them use.

A system is two files of a collection. ``systems/NAME.py`` declares it: ``SYSTEM``, a
`circlet.systems.spec.SystemSpec`; plans import it, so it must not import torch.
``equations/NAME.py`` computes it and is imported by jobs alone. `circlet.training.run` calls its
functions in this order:

``initial(parameters, seeds)``
    The arrays of one run at step 0 by name, float64 numpy arrays of the same shapes for all seeds.
    One of them is ``embedding``, shape (p, d). ``seeds`` is a `circlet.study.seeds.Seeds`.
``learning_rate_multipliers(parameters)``
    Optional: multiples of the learning rate by name of the array, where they are not 1.
``data(parameters, seeds, dtype, device)``
    What stays fixed during the runs (train and test sets, masks), for a list of seeds.

From here on arrays have the runs as their first axis. A system that is trained defines

``batch(data, step)``
    Optional: what ``gradients`` sees in a step, counted from 1. It must follow from seed and step
    alone, as checkpoints keep nothing of it. Without it, every step sees ``data``.
``gradients(weights, data, out)``
    Write the gradient of every run's loss into the arrays of ``out``, which have the names and
    shapes of ``weights``; AdamW then takes the step.
``metrics(weights, data)``
    Loss (nat) and accuracy (0..1) of every run: ``train_loss``, ``test_loss``, ``train_accuracy``
    and ``test_accuracy``, each of shape (runs,).

and one that is simulated

``step(state, data)``
    Advance the arrays of every run by one step, in place.

Arrays of another shape raise a CircletError that names the array (`circlet.training.shapes`).
"""
