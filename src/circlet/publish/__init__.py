"""Published studies: a study as a data set, with a card and Croissant metadata.

The folder has the study's tables byte by byte, so `circlet.load` reads it as it reads results.
"""

import hashlib
import shutil
from pathlib import Path

from circlet.errors import ConfigError
from circlet.publish import card, croissant
from circlet.publish.data import CONFIG, Published
from circlet.storage import files

SUMS = "sha256sums.txt"


def texts(data: Published) -> dict[str, str]:
    """Return the files that are written beside the tables, by name."""
    texts = {CONFIG: data.config, card.NAME: card.text(data), croissant.NAME: croissant.text(data)}
    sums = {name: digest for name, (digest, _) in data.sums.items()}
    sums |= {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    return texts | {SUMS: "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))}


def write(data: Published, to: Path) -> None:
    """Write a data set into a folder, replacing an earlier one in it.

    Raises LogError if the folder has files of others.
    """
    if to.resolve() == data.folder.resolve():
        raise ConfigError(f"--to: {to} is the study itself; give another folder")
    written = texts(data)
    with files.own_folder(to, [to / name for name in (*data.sums, *written)]) as made:
        for name in data.sums:
            with files.atomic(to / name) as temporary:
                shutil.copyfile(data.folder / name, temporary)
            made.append(to / name)
        for name, text in written.items():
            files.write_text(to / name, text)
            made.append(to / name)
