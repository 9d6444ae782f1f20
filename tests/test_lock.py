"""uv.lock: versions of constraints.txt for all dependencies of pyproject.toml, from PyPI alone."""

import re
import tomllib

from conftest import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

TEXT = (ROOT / "uv.lock").read_text()
PACKAGES = tomllib.loads(TEXT)["package"]
[CIRCLET] = [p for p in PACKAGES if p["name"] == "circlet"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_its_versions_are_those_of_the_constraints():
    """Packages for other platforms and for CUDA have no constraint, but one version each."""
    lines = re.findall(r"^([^#\s]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    pinned = {canonicalize_name(name): version for name, version in lines}
    locked = {p["name"]: p["version"] for p in PACKAGES if p is not CIRCLET}
    assert len(locked) == len(PACKAGES) - 1
    shared = locked.keys() & pinned.keys()
    assert len(shared) > 0.9 * len(pinned)
    assert {name: locked[name] for name in shared} == {name: pinned[name] for name in shared}


def test_it_has_the_dependencies_of_the_project():
    def written(lines):
        asked = map(Requirement, lines)
        return {(canonicalize_name(r.name), r.specifier) for r in asked if r.name != "circlet"}

    def locked(entries):
        ours = [entry for entry in entries if entry["name"] != "circlet"]
        return {(entry["name"], SpecifierSet(entry["specifier"])) for entry in ours}

    project, metadata = PROJECT["project"], CIRCLET["metadata"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    assert locked(metadata["requires-dist"]) == written(project["dependencies"] + extras)
    for group, lines in PROJECT["dependency-groups"].items():
        assert locked(metadata["requires-dev"][group]) == written(lines)


def test_it_names_no_other_host_than_pypi():
    hosts = set(re.findall(r"\w+://([^/\"]+)", TEXT))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
    assert all(p["sdist" if "sdist" in p else "wheels"] for p in PACKAGES if p is not CIRCLET)
