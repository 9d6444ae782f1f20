"""Published studies: a study as a data set, with a card and Croissant metadata.

The folder has the study's tables byte by byte, so `circlet.load` reads it as it reads results.
"""

import hashlib
import shutil
from collections import Counter
from pathlib import Path

import jinja2
import yaml

from circlet.errors import ConfigError
from circlet.pages import experiments
from circlet.publish import croissant
from circlet.publish.data import CONFIG, TAGS, Published
from circlet.storage import files

SUMS = "sha256sums.txt"
SHARED = 3  # least number of tables with a column that is explained once for all
_SIZES = {1e3: "n<1K", 1e4: "1K<n<10K", 1e5: "10K<n<100K", 1e6: "100K<n<1M", 1e7: "1M<n<10M"}


def texts(data: Published) -> dict[str, str]:
    """Return the files that are written beside the tables, by name."""
    texts = {CONFIG: data.config, "README.md": _card(data), "croissant.json": croissant.text(data)}
    sums = {name: digest for name, (digest, _) in data.sums.items()}
    sums |= {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return texts | {SUMS: "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))}


def _card(data: Published) -> str:
    rows = sum(table.rows for table in data.tables)
    head = {
        "license": data.licence.lower(),
        "pretty_name": data.title,
        "tags": TAGS,
        "size_categories": [next((size for most, size in _SIZES.items() if rows < most), "n>10M")],
        # The Hub cannot read a table without rows.
        "configs": [{"config_name": t.name, "data_files": t.path} for t in data.tables if t.rows],
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    environment.filters["cell"] = lambda text: text.replace("|", r"\|")
    study, uses = data.study, Counter(c for table in data.tables for c in table.explained)
    points = {name: study.experiment(name) for name in study.config.experiments}
    return environment.get_template("card.md").render(
        data=data,
        head=yaml.safe_dump(head, sort_keys=False, allow_unicode=True),
        shared=[column for column, tables in uses.items() if tables >= SHARED],
        experiments=[
            (name, points[name][0].system.name, sum(point.count for point in points[name]))
            for name in points
        ],
        setting={name: experiments.setting(points[name])["setting"] for name in points},
        systems=[experiments.system(study.specs[name]) for name in study.systems],
        missing=max(made.get("missing_blocks", 0) for made in data.footers),
    )


def write(data: Published, to: Path) -> None:
    """Write a data set, replacing an earlier one; raises LogError if the folder has other files."""
    if to.resolve() == data.folder.resolve():
        raise ConfigError(f"--to: {to} is the study itself; give another folder")
    written = texts(data)
    with files.marked_folder(to, [to / name for name in (*data.sums, *written)]) as made:
        for name in data.sums:
            with files.atomic(to / name) as temporary:
                shutil.copyfile(data.folder / name, temporary)
            made.append(to / name)
        for name, text in written.items():
            files.write_text(to / name, text)
            made.append(to / name)
