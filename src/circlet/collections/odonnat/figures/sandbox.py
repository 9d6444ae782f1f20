"""The visual sandbox: every layer of one network (Odonnat et al.) at its last step; the run is that
of figure 2. Colours are classes; in the panels of pairs they are tokens, and numbers are positions,
bold in the prefix. Numbers at clusters are the sums of their tokens, weighted by the integer
signature (none if it is not legal). For any other run and step, or a film, run: python -m circlet
sandbox RUN_ID --configfile CONFIG.
"""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from matplotlib.animation import FFMpegWriter, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from circlet.analysis import log_frames
from circlet.collections.odonnat import network_panels
from circlet.collections.odonnat.network_panels import Moment
from circlet.plotting import panels, style
from circlet.storage import files, parquet
from circlet.study.plan import Study

ROLES = ("heads",)
TABLES = ("snapshots", "losses", "heads")

_PER_ROW, _SIDE = 4, 2.3  # panels in a row, and their side in inches


def grid() -> tuple[Figure, dict[str, Axes]]:
    """A figure with an empty panel for each layer, by name."""
    figure = Figure(figsize=(_PER_ROW * _SIDE, _PER_ROW * _SIDE * 1.06))
    every = dict(zip(network_panels.PANELS, figure.subplots(_PER_ROW, _PER_ROW).flat, strict=True))
    for name, axes in every.items():
        axes.set_title(name, fontsize=8, y=1.0)  # a given place is not looked for in each frame
    return figure, every


def fill(figure: Figure, every: dict[str, Axes], moment: Moment, title: str) -> None:
    """Draw a network into the panels, in place of what they have.

    The axes stay, as making them takes most of the time of a frame.
    """
    figure.suptitle(title, fontsize=10 if len(title) < 90 else 7)
    for name, axes in every.items():
        for artist in (*axes.lines, *axes.collections, *axes.images, *axes.texts):
            artist.remove()
        network_panels.PANELS[name](axes, moment)


def write(moment: Moment, title: str, path: Path) -> None:
    """Write the panels of a network to a file, of the kind that its suffix says."""
    with mpl.rc_context(style.RC), files.atomic(path) as temporary:
        figure, every = grid()
        fill(figure, every, moment, title)
        figure.savefig(temporary)


class _Gif(PillowWriter):
    """A GIF whose frames share a palette, with all colours of classes in it."""

    def finish(self) -> None:
        """Write the frames."""
        frames = [frame.convert("RGB") for frame in self._frames]
        shown = frames[:: max(1, len(frames) // 4)]
        width, height = frames[0].size
        together = Image.new("RGB", (width, height * len(shown)))
        for i, frame in enumerate(shown):
            together.paste(frame, (0, i * height))
        exact = [round(255 * value) for colour in style.labels(6) for value in colour]
        common = together.quantize(256 - len(exact) // 3).getpalette() or []
        palette = Image.new("P", (1, 1))
        palette.putpalette([*exact, *common[: 768 - len(exact)]])
        first, *rest = (frame.quantize(palette=palette, dither=0) for frame in frames)
        duration = round(1000 / self.fps)
        first.save(self.outfile, save_all=True, append_images=rest, duration=duration, loop=0)


def animate(moments: Iterator[tuple[Moment, str]], path: Path, rate: int = 20) -> int:
    """Write a film, a frame per moment and title; returns the number of frames.

    The suffix of the path says what it is: ``.gif``, or ``.mp4``, which needs ffmpeg.
    """
    writer = _Gif(rate) if path.suffix == ".gif" else FFMpegWriter(rate, bitrate=4000)
    with mpl.rc_context(style.RC | {"figure.constrained_layout.use": False, "figure.dpi": 90}):
        figure, every = grid()
        figure.subplots_adjust(0.04, 0.03, 0.98, 0.93, 0.16, 0.22)
        frames = 0
        with files.atomic(path) as temporary, writer.saving(figure, temporary, 90):
            for moment, title in moments:
                fill(figure, every, moment, title)
                writer.grab_frame()
                frames += 1
    return frames


def draw(study: Study) -> Figure:
    """The run that stands for the two phases, at its last step."""
    snapshots = parquet.read_table(study, "snapshots", "heads")
    shown = snapshots[(snapshots["role"] == "two_phases") & (snapshots["moment"] == "last")]
    if shown.empty:
        return panels.nothing("no run that solved its task after its head had formed")
    run_id, step = shown["run_id"].iloc[0], int(shown["step"].iloc[0])
    losses = parquet.read_table(study, "losses", "heads").query("run_id == @run_id")
    per_epoch = study.experiment(study.reproduce["heads"])[0].steps_per_epoch
    moment = Moment(log_frames.arrays(shown), losses.sort_values("step"), step, per_epoch)
    figure, every = grid()
    fill(figure, every, moment, f"{run_id}: step {step}, epoch {step / per_epoch:.4g}")
    for axes in every.values():
        panels.plays(axes, run_id, step)
    return figure
