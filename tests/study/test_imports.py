"""Which modules may import which."""

import ast
import functools
import re
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, config_of

from circlet.study import fingerprint, registry

BASE = ("", "errors", "lazy_import", "formatting", "config", "study")
FILES = (*BASE, "storage")
SPEC = ("systems.spec", "systems.parameters")
# Other modules of circlet that the modules of a room (a part of the package) may import. The first
# room that fits counts; * stands for any name. A module in no room fails.
ROOMS = {
    "config": ("errors", "lazy_import"),
    "study": ("", "errors", "lazy_import", "native", "config", *SPEC),
    "storage": (*BASE, "systems.spec"),
    "systems": ("", "study.seeds"),
    "native": ("errors",),
    "training": (*FILES, "systems", "native"),
    "analysis": (*FILES, "systems"),
    "plotting": FILES,
    "collections.*.systems": (*SPEC, "systems"),
    "collections.*.starts": ("native", "study.seeds"),
    "collections.*.equations": ("systems", "study.seeds", "collections.*.starts"),
    "collections.*.peers": ("bench.peers",),
    "collections.*.figures": (*FILES, "analysis", "plotting", "collections.*"),
    "collections.*": (*FILES, "systems", "analysis", "plotting"),
    "collections": (),
    "sweeps.plots": (*FILES, "systems.spec", "plotting", "sweeps"),
    "sweeps.commands": (*FILES, "systems.spec", "terminal"),
    "sweeps": (*FILES, "systems.spec", "analysis", "plotting"),
    "pages": (
        *FILES,
        "systems.spec",
        "analysis.claims",
        "analysis.verdicts",
        "analysis.log_frames",
        "terminal",
    ),
    "terminal": (*FILES, "analysis.claims", "native"),
    "watch": (*FILES, "terminal"),
    "build": BASE,
    "bench": (*FILES, "systems", "training", "native", "terminal"),
    "compare": FILES,
    "frozen": (*FILES, "analysis.log_frames", "analysis.make", "compare"),
    "publish": (*FILES, "pages.experiments"),
    "new": FILES,
    "check": (*FILES, "systems", "training", "build"),
    "commands": (*FILES, "build", "terminal"),
    "cli": (*FILES, "commands"),
    "job_requests": FILES,
    "pipeline": (*FILES, "terminal", "watch", "job_requests", "job_server"),
    "job_server": (),
    "__main__": ("", "errors", "cli", "job_server"),
    "errors": (),
    "lazy_import": (),
    "formatting": (),
    "": ("storage.results",),
}


HEAVY = {"torch", "pandas", "pyarrow", "matplotlib", "scipy"}

PATHS = (path.relative_to(registry.PACKAGE.parent) for path in registry.PACKAGE.rglob("*.py"))
MODULES = sorted(".".join(p.with_suffix("").parts).removesuffix(".__init__") for p in PATHS)


@functools.cache
def imported(module):
    """Return all names that a module imports; a package only if the import names nothing in it."""
    imports = set()
    for node in ast.walk(ast.parse(registry.path_of(module).read_text())):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "write the name of the package"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            imports |= names & set(MODULES) or {node.module}
    return imports


def fits(name, room):
    """Return whether a module, by its name in circlet, is in a room."""
    pattern = re.escape(room).replace(r"\*", r"\w+")
    return re.fullmatch(rf"{pattern}(\..*)?" if room else "", name)


def short(module):
    return module.partition(".")[2]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_to_the_ground(module):
    room = next(room for room in ROOMS if fits(short(module), room))
    # A collection may import only its own parts.
    part = re.match(r"collections\.\w+|", short(module))[0]
    here, *allowed = (name.replace("collections.*", part) for name in (room, *ROOMS[room]))
    for name in imported(module):
        if name.split(".")[0] == "circlet":
            assert any(fits(short(name), place) for place in (here, *allowed)), name


@pytest.mark.parametrize("file", [
    *(ROOT / "workflow").rglob("*.smk"), ROOT / "Snakefile", ROOT / "workflow/Snakefile",
    *(ROOT / f"src/circlet/{name}.py" for name in ("pipeline", "job_requests")),
    *(ROOT / "src/snakemake_logger_plugin_circlet").glob("*.py"),
], ids=lambda file: file.name)  # fmt: skip
def test_of_snakemake_only_public_names_are_read_and_none_is_set(file):
    text = file.read_text()
    assert not re.findall(r"(?<!self)\._[a-z]\w*", text)
    assert not re.search(r"setattr|getHandler|\bvars\(", text)
    assert not re.search(r"\bworkflow(?:\.\w+)+ = ", text)


@pytest.mark.parametrize("module", [m for m in MODULES if re.search(r"\.(table|figure)s\.", m)])
def test_what_tables_and_figures_do_without(module):
    """Figures draw what tables hold, so they need no equations."""
    others = r"analysis\.make\b|.*\.equations\b" if ".figures." in module else r"plotting\b"
    assert not [m for m in fingerprint.closure(module) if re.match(others, short(m))]


@pytest.mark.parametrize("module", [m for m in MODULES if short(m).startswith("pages")])
def test_pages_read_tables(module):
    text = registry.path_of(module).read_text()
    assert not re.search(r"read_log|read_weights|\.log\(", text)
    used = (".systems.", ".equations.", ".training.", ".sweeps")
    assert not [m for m in fingerprint.closure(module) if any(f"{part}" in m for part in used)
                and short(m) not in SPEC]  # fmt: skip


@pytest.mark.parametrize("module", [m for m in MODULES if ".equations" in m or ".systems" in m])
def test_equations_need_torch_numpy_and_jaxtyping_alone(module):
    others = {name.split(".")[0] for name in imported(module)} - sys.stdlib_module_names
    assert others <= {"circlet", "jaxtyping", "numpy", "torch"}


def test_the_package_knows_no_snakemake():
    """Except for the type of the object that its rules pass."""
    names = ((module, name) for module in MODULES for name in imported(module))
    assert [pair for pair in names if pair[1].split(".")[0] == "snakemake"] == [
        ("circlet.job_requests", "snakemake.workflow"), ("circlet.pipeline", "snakemake.workflow"),
    ]  # fmt: skip


def test_planning_and_the_command_plan_import_no_more_than_they_need(mine, tmp_path):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config_of(mine)))
    code = (
        "import sys\n"
        "from circlet.study import planning, targets\n"
        "for path in sys.argv[1:]:\n"
        "    [target.key for target in targets.ordered(planning.plan_file(path))]\n"
        f"print(*sorted({HEAVY} & set(sys.modules)), file=sys.stderr)\n"
        "from circlet.cli import main\n"
        "main(['plan', '--configfile', sys.argv[1]])\n"
        f"print(*sorted({HEAVY - {'pyarrow'}} & set(sys.modules)), file=sys.stderr)"
    )
    paths = [str(ROOT / "config/config.yaml"), str(tmp_path / "mine.yaml")]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "\n\n")
