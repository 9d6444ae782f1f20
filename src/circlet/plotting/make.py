"""Draw a figure and write it."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.plotting import panels, style
from circlet.storage import files
from circlet.study.registry import path_of

if TYPE_CHECKING:
    from circlet.study.targets import Target


def make(target: "Target") -> None:
    """Write a figure as SVG and PNG; the same tables give the same bytes."""
    with mpl.rc_context(style.RC):
        try:
            figure = load(target.module).draw(target.study)
        except panels.NothingToDraw as reason:
            figure = panels.nothing(str(reason))
        if not isinstance(figure, Figure):
            raise ConfigError(f"{path_of(target.module)}: draw(study) must return a Figure")
        for path in target.outputs:
            save(figure, path)
            with mpl.rc_context({"figure.constrained_layout.use": False}):
                figure.set_layout_engine()  # the layout stays


def save(figure: Figure, path: Path) -> None:
    """Write a figure, without the date, which would change the bytes of an SVG."""
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    with files.atomic(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata=metadata)
