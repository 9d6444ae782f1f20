"""y = x_1 x_2 of normal x, by one hidden layer; the scale is a buffer, the shift is frozen."""

import numpy as np
import torch
from torch import nn


class Regression(nn.Module):
    def __init__(self, width, scale):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1))
        self.shift = nn.Parameter(torch.ones(()), requires_grad=False)
        self.register_buffer("scale", torch.tensor(scale))

    def forward(self, x):
        return self.scale * self.layers(x)[..., 0] + self.shift


def network(parameters, seeds):
    return Regression(parameters["width"], float(seeds.stream("network").uniform(1, 2)))


def data(parameters, seeds):
    stream = seeds.stream("data")
    inputs = {name: stream.normal(size=(n, 2)) for name, n in (("train", 20), ("test", 5))}
    return {name: {"x": x, "y": np.prod(x, 1)} for name, x in inputs.items()}


def loss(network, examples):
    return (network(examples["x"]) - examples["y"]).square().mean()
