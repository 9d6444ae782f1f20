"""What a network holds beside its weights: changes of it are seen."""

import functools
import itertools

import numpy as np
import pytest
import torch

from circlet.training import hidden_state


class Scale:
    @staticmethod
    def counted(n=[0]):  # noqa: B006
        n[0] += 1

    def method(self):
        pass


@functools.lru_cache
def cached():
    pass


def count(calls=[0]):  # noqa: B006
    calls[0] += 1


def closure(held):
    return lambda x: held[-1] * x


CYCLE, NUMBERS, DRAWN = itertools.cycle([1, 2]), (n for n in range(9)), np.random.default_rng(0)

# Values that a network may hold, and a call that changes each.
HELD = {
    "a list": (LIST := [1.0], lambda: LIST.append(2.0)),
    "a word in a dictionary": (WORDS := {"first": "relu"}, lambda: WORDS.update(first="tanh")),
    "a default": (count, count),
    "a default of a static method": (Scale, Scale.counted),
    "an attribute of a class": (Scale, lambda: setattr(Scale, "factor", 2.0)),
    "an attribute of a method": (Scale().method, lambda: setattr(Scale.method, "n", 1)),
    "an attribute of a function with a cache": (cached, lambda: setattr(cached, "n", 1)),
    "a closure": (closure(FACTORS := [1]), lambda: FACTORS.append(2)),
    "a cycle": (CYCLE, lambda: next(CYCLE)),
    "a generator": (NUMBERS, lambda: next(NUMBERS)),
    "a generator of random numbers": (DRAWN, DRAWN.random),
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_call_changes_is_seen(name):
    held, call = HELD[name]
    network = torch.nn.Linear(2, 3)
    network.held = held
    before = hidden_state.of_network(network)
    assert hidden_state.differences(before, hidden_state.of_network(network)) == []
    call()
    changed = hidden_state.differences(before, hidden_state.of_network(network))
    assert changed and all(place.startswith("held") for place in changed)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (torch.relu, torch.celu),
        (torch.nn.ReLU(), torch.nn.Tanh()),
        (functools.partial(torch.mul, 2), functools.partial(torch.mul, 3)),
        ((lambda k: lambda x: k * x)(1), (lambda k: lambda x: k * x)(2)),
    ],
    ids=["functions of PyTorch", "modules", "arguments", "closures"],
)
def test_two_values_are_told_apart(first, other):
    networks = [torch.nn.Linear(2, 3) for _ in "12"]
    networks[0].held, networks[1].held = first, other
    assert hidden_state.differences(*map(hidden_state.of_network, networks))


def test_two_states_differ_where_they_do():
    class Network(torch.nn.Linear):
        pass

    first, other = Network(2, 3), Network(2, 3)
    for network in (first, other):
        network.numbers, network.nested = [1.0, float("nan")], {"a": (1, {"b": torch.ones(2)})}
        network.alike = lambda x: x
    states = [hidden_state.of_network(network) for network in (first, other)]
    assert hidden_state.differences(*states) == []  # weights may differ
    other.nested["a"][1]["b"][1] = 2
    assert hidden_state.differences(states[0], hidden_state.of_network(other)) == ["nested.a.1.b"]
