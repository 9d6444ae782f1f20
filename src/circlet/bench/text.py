"""Text of the results of the benchmark."""

from typing import Any

from circlet.formatting import number
from circlet.terminal import aligned

WAYS = {
    "pytorch": "PyTorch",
    "jax_written": "JAX as written",
    "jax_formulated": "JAX formulated",
    "kernel": "kernel",
    "products": "products",
}


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """Return least times over that of a job: of PyTorch, the faster JAX, and products alone."""
    least = {way: ms["min"] for way, ms in row["ms"].items()}
    others = {"PyTorch": least["pytorch"]}
    others |= {name: value for name, value in least.items() if name == "products"}
    if jax := [value for way, value in least.items() if way.startswith("jax")]:
        others["JAX"] = min(jax)
    return {name: value / least.get("kernel", least["pytorch"]) for name, value in others.items()}


def text(measured: dict[str, Any]) -> str:
    """Return the results of ``bench.run`` or ``bench.compare`` as text."""
    about, rows = measured["machine"], measured.get("peers") or measured["training"]
    gpu = about["device"] != "cpu"
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items() if v and k != "circlet")
    ways = [way for way in WAYS if any(way in row["ms"] for row in rows)]
    others = ("PyTorch", "JAX", "products") if "peers" in measured else ("PyTorch",)
    cells = [
        (
            row["system"],
            *(_cell(row, way) for way in ways),
            *(number(ratios(row).get(other)) for other in others),
        )
        for row in rows
    ]
    header = ("system", *(WAYS[way] for way in ways), *(f"times {other}" for other in others))
    lines = [
        f"{about['device'] + ', ' if gpu else ''}{about['processor']}, {about['cores']} cores, "
        f"{about['instructions']}; Python {about['python']}, {versions}",
        f"Native kernels: {about['kernels']}." if about["kernels"] else about["no_kernels"],
        "",
        f"Training, least microseconds of {'the clock' if gpu else 'CPU time'} per run and step; "
        "in brackets: runs trained together",
        aligned(header, cells, "<" + ">" * (len(header) - 1)),
        "kernel: in C++. times PyTorch: PyTorch over what a job takes, a kernel if there is one.",
    ]
    if "peers" in measured:
        apart = max((value for row in rows for value in row["differences"].values()), default=0.0)
        lines += [
            "JAX as written: jit(vmap(scan)) of a loss and jax.grad, as a user would write it. "
            "JAX formulated: with circlet's formulas",
            "and residual. Both with the number of runs together that is fastest, without logs. "
            f"Losses after 64 steps are circlet's to {apart:.0e}.",
            "times JAX: the faster JAX over what a job takes. products: a step's operations, in "
            "products of large matrices.",
        ]
    return "\n".join(lines)


def _cell(row: dict[str, Any], way: str) -> str:
    if way not in row["ms"]:
        return "–"
    return f"{number(1000 * row['ms'][way]['min'])} ({row['groups'][way]})"
