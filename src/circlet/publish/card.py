"""The card of a published study, with the front matter of the Hugging Face Hub."""

from collections import Counter
from pathlib import Path

import jinja2
import yaml

from circlet.pages import experiments
from circlet.publish.data import TAGS, Published

NAME = "README.md"
SHARED = 3  # least number of tables with a column that is explained once for all
_SIZES = {1e3: "n<1K", 1e4: "1K<n<10K", 1e5: "10K<n<100K", 1e6: "100K<n<1M", 1e7: "1M<n<10M"}


def text(data: Published) -> str:
    """Return the card as Markdown."""
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
        systems=[experiments.system(study.known[name]) for name in study.systems],
        missing=max(made.get("missing_blocks", 0) for made in data.footers),
    )
