"""Write the files with numbers of the frozen studies: pages of docs/, pictures, and verdicts.

    python docs/render.py              # write them, without the pictures
    python docs/render.py tables.md    # write this page alone
    python docs/render.py --pictures   # also draw these
    python docs/render.py --check      # exit status 1 if a file is out of date

A template in docs/templates/ is Markdown with Jinja2; README.md and config/README.md have one each.
Templates take numbers of studies from functions: `value("full_length", "ding_circle_number")` is
4.7 [4.3, 5.1]. The ``frozen.csv`` of each collection has the verdicts of the frozen studies on its
claims, for studies that cannot judge them (`circlet.analysis.claims.explained`).
"""

import sys
from pathlib import Path

import claim_numbers
import jinja2
import matplotlib as mpl
import reference
import speed_tables
import study_numbers

from circlet import formatting
from circlet.lazy_import import load
from circlet.plotting import style
from circlet.study import registry, targets
from circlet.study.planning import plan_file

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NOTE = "<!-- Written by docs/render.py from docs/templates/{}: edit that, then `make docs`. -->\n"


def pages(names: list[str]) -> dict[Path, str]:
    """Return the content of some pages with a template; of all, and of verdicts, without names."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    for module in (formatting, claim_numbers, reference, speed_tables, study_numbers):
        environment.globals.update(
            (name, member)
            for name, member in vars(module).items()
            if getattr(member, "__module__", "") == module.__name__
        )
    contents: dict[Path, str] = {}
    if not names:
        contents[ROOT / "workflow/schemas/config.schema.yaml"] = reference.json_schema()
        for collection in registry.SHIPPED:
            if (collection.folder / "claims.csv").exists():
                verdicts = claim_numbers.frozen_verdicts(collection.name)
                contents[collection.folder / "frozen.csv"] = verdicts
    templates = sorted(environment.list_templates(extensions=["md"]))
    for name in names or templates:
        target = (ROOT if name.endswith("README.md") else DOCS) / name
        contents[target] = NOTE.format(name) + environment.get_template(name).render()
    return contents


# Figures of frozen studies that pages show. They are drawn with the pages, but not checked: fonts
# differ between machines.
PICTURES = {
    "published_tables": "grids_and_circles",
    "initialisations": "grids_and_circles",
    "precision": "full_length",
    "forecast": "full_length",
    "shared_laws": "findings",
    "network_forces": "findings",
    "relations": "findings",
    "seed_overlap": "findings",
    "progress_measures": "findings",
    "circles_heat": "phase",
    "circle_or_grid_heat": "phase",
    "delays_by_decay": "delays",
    "delays_by_logit_scale": "delays",
}


def draw() -> None:
    """Draw the pictures of the pages."""
    for name, study in PICTURES.items():
        whole = plan_file(DOCS / f"studies/{study}/config.yaml")
        target = next(t for t in targets.figures(whole) if t.name == name)
        with mpl.rc_context(style.RC):
            load(target.module).draw(target.study).savefig(DOCS / f"{name}.png")
    with mpl.rc_context(style.RC):
        speed_tables.peer_figure().savefig(DOCS / "peers.png")


def main() -> None:
    """Write the pages, with --pictures also the pictures, or --check the pages."""
    check = "--check" in sys.argv
    for path, text in pages([name for name in sys.argv[1:] if not name.startswith("-")]).items():
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(f"{path.relative_to(ROOT)}: is not what its template gives; run `make docs`")
        if not check:
            path.write_text(text, encoding="utf-8")
    if "--pictures" in sys.argv:
        draw()


if __name__ == "__main__":
    main()
