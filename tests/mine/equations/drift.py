"""Every step takes a particle a share of its way to the origin."""


def data(parameters, seeds, dtype, device):
    """The share."""
    return parameters["rate"]


def initial(parameters, seeds):
    """Normal positions."""
    shape = parameters["p"], parameters["d"]
    return {"embedding": seeds.stream("embedding").normal(size=shape)}


def step(state, rate):
    """Move all particles."""
    state["embedding"] *= 1 - rate
