"""RO-Crate of a published study: its files, and the program and the config that made them."""

import json
from pathlib import Path
from typing import Any

from circlet.publish import card, croissant
from circlet.publish.data import AUTHORS, CONFIG, PARQUET, TAGS, Published, library

NAME = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"  # a crate that names the program of its files
_TYPES = {".md": "text/markdown", ".yaml": "application/yaml", ".json": "application/json"}
_MEANINGS = {
    card.NAME: "what the data set is",
    CONFIG: "config of the study",
    croissant.NAME: "files and columns, for programs",
}


def text(data: Published, sums: dict[str, tuple[str, int]]) -> str:
    """Return the crate's metadata as JSON; ``sums`` has SHA-256 and size (bytes) of its files."""
    crate = library("rocrate.rocrate").ROCrate(version="1.1")
    entity = library("rocrate.model").ContextEntity

    def add(id: str, type: str, name: str, **more: Any) -> Any:
        return crate.add(entity(crate, id, properties={"@type": type, "name": name} | more))

    crate.name, crate.description, crate.datePublished = data.title, data.about, data.date
    crate.keywords = TAGS
    crate.license = add(data.licence_url, "CreativeWork", data.licence)
    root, authors = crate.root_dataset, add("#authors", "Organization", AUTHORS)
    root["creator"] = root["author"] = authors
    root["conformsTo"] = add(PROFILE, "CreativeWork", "Process Run Crate", version="0.5")
    papers = [(source.name, source.metadata) for source in data.sources]
    root["citation"] = [
        add(f"#{name}", "ScholarlyArticle", paper.title, author=paper.authors)
        for name, paper in papers
    ]
    meanings = _MEANINGS | {table.path: table.meaning for table in data.tables}
    entities = {
        path: crate.add_file(
            dest_path=path,
            properties={
                "name": path,
                "description": meanings.get(path, "a log"),
                "contentSize": str(size),
                "encodingFormat": _TYPES.get(Path(path).suffix, PARQUET),
                "sha256": digest,
            },
        )
        for path, (digest, size) in sums.items()
    }
    run = {
        "agent": authors,
        "description": "snakemake trained or simulated the runs, and made the tables",
        "instrument": add("#circlet", "SoftwareApplication", "circlet", version=data.version),
        "object": entities[CONFIG],
        "result": [entities[path] for path in data.sums],
        "endTime": data.date,
    }
    root["mentions"] = add("#study", "CreateAction", "the study, from config to tables", **run)
    return json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n"
