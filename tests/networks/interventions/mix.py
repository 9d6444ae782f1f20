"""Move all weights towards those of another run's end, and shuffle the tokens."""

from circlet.systems.spec import boolean, number

ARGUMENTS = {
    "share": number("Share of the way.", 0.5, minimum=0, maximum=1),
    "shuffle": boolean("Whether tokens are shuffled.", False),
}
READS = "parameters"


def apply(arrays, stream, parent, share, shuffle):
    mixed = {name: (1 - share) * values + share * parent[name] for name, values in arrays.items()}
    if shuffle:
        mixed["embedding"] = stream.permutation(mixed["embedding"])
    return mixed
