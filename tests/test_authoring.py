"""Writing a collection: new, check, and runs that follow the author's code."""

import json
import sys
from pathlib import Path

import pytest
from conftest import ROOT, experiment, planned, point_of, written
from projects import edit

from circlet import new, terminal
from circlet.cli import main
from circlet.errors import ConfigError
from circlet.storage import progress
from circlet.study import declared_systems, fingerprint, planning
from circlet.training import job


@pytest.fixture
def mine(tmp_path, request):
    """A new collection with a unique name, because modules are found by name."""
    folder = tmp_path / f"own{abs(hash(request.node.name)) % 10**9}"
    new.make("collection", folder)
    return folder


def with_everything(folder):
    new.make("system", folder, "sums")
    new.make("table", folder, "sizes")
    new.make("figure", folder, "sizes")


def checked(folder, capsys):
    """Exit status and output of ``circlet check``."""
    capsys.readouterr()
    try:
        main(["check", str(folder)])
        status = None
    except SystemExit as stop:
        status = stop.code
    return status, capsys.readouterr().out


def test_what_is_new_works_as_it_is(mine, capsys):
    with_everything(mine)
    status, said = checked(mine, capsys)
    assert status is None
    assert {line.split()[0] for line in said.splitlines()} == {"ok"}
    for words in ("1 system, 1 table, 1 figure", "equal a plain PyTorch loop",
                  "embeddings 138 rows", "of a few runs: 3 rows", "if all diverged: 0 rows",
                  "if all diverged: drawn"):  # fmt: skip
        assert words in said
    study = planning.plan_file(mine / "sums.yaml")
    assert study.points[0].system.name == f"{mine.name}.sums"


def test_parts_of_new_collections_are_named_and_whole(tmp_path):
    folder = tmp_path / "my_sums"
    folder.mkdir()
    new.make("collection", folder)
    assert "title: My sums\n" in (folder / "collection.yaml").read_text()
    (folder / "c.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"c\.yaml: already exists"):
        new.make("system", folder, "c")
    assert not (folder / "systems").exists()
    for name in ("b", "a"):
        new.make("system", folder, name)
    new.make("table", folder, "sizes")
    assert 'SYSTEMS = ("my_sums.a",)' in (folder / "tables/sizes.py").read_text()


def test_tables_of_shipped_networks_are_checked(mine, capsys):
    new.make("table", mine, "sizes")
    file = mine / "tables/sizes.py"
    edit(file, '("constant_attention",)\n', '("constant_attention", "embedding_mlp")\n')
    edit(file, 'rows["values"]', 'rows["vlaues"]')
    status, printed = checked(mine, capsys)
    assert status == "2 errors" and printed.count("sizes.py:19: KeyError: 'vlaues'") == 2
    assert "ok    table outcomes of a few runs: " in printed  # after all tables that it reads


def test_tables_without_a_system_are_not_checked(mine, capsys):
    new.make("table", mine, "sizes")
    edit(mine / "tables/sizes.py", 'SYSTEMS = ("constant_attention",)\n', "")
    status, printed = checked(mine, capsys)
    assert status is None and "names no system" in printed


def test_a_network_that_multiplies_has_no_frequencies(mine):
    new.make("system", mine, "products")
    edit(mine / "equations/products.py", "pairs.sum(1)", "pairs.prod(1)")
    declared = '    embedding="embed.weight",\n'
    edit(mine / "systems/products.py", declared, declared + "    frequencies=False,\n")
    study = planning.plan_file(mine / "products.yaml")
    assert study.points[0].logs == ("runs", "curves", "embeddings", "parameters")
    config = written(study) | {"collections": study.folders}
    config["experiments"]["products"]["interventions"] = [{"scale": {"frequency": 1, "factor": 2}}]
    with pytest.raises(ConfigError, match=f"acts on frequencies, but {mine.name}.products has"):
        planning.plan(config)


# Arguments of calls, of which the last is refused.
REFUSED = {
    "a word of Python": ([("system", ".", "class")], "'class': must be lower-case"),
    "capitals": ([("table", ".", "Sizes")], "'Sizes': must be lower-case letters"),
    "a name with a dot": ([("figure", ".", "a.b")], "'a.b': must be lower-case"),
    "no name": ([("figure", ".", "")], "'': must be lower-case"),
    "twice": (2 * [("system", ".", "a")], "systems/a.py: already exists"),
    "a collection again": ([("collection", ".")], "already exists"),
    "no collection": ([("system", "x", "a")], "there is no such folder"),
    "a name of circlet": ([("collection", "ding")], "circlet has a collection 'ding'"),
}


@pytest.mark.parametrize(("calls", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_made_is_one_line(mine, calls, said):
    *earlier, (kind, place, *name) = calls
    for call in earlier:
        new.make(call[0], mine / call[1], *call[2:])
    with pytest.raises(ConfigError, match=said):
        new.make(kind, mine / place, *name)


def test_new_says_what_comes_next(tmp_path, capsys, monkeypatch):
    """It prints commands that work as they are, in the current folder."""
    folder = tmp_path / "a b/said"
    main(["new", "collection", str(folder)])
    assert capsys.readouterr().out.endswith(f"next: circlet new system '{folder}' NAME\n")
    monkeypatch.chdir(tmp_path)
    main(["new", "system", "a b/said", "net"])
    given = "--configfile 'a b/said/net.yaml'"
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "next: edit it; circlet check 'a b/said'",
        f"then: snakemake -s {ROOT}/Snakefile --cores all {given}",
    ]
    path = Path("a b/said/net.yaml")
    monkeypatch.setattr(terminal, "PACKAGE", tmp_path / "python/site-packages/circlet")
    circlet = f"{terminal.python()} -m circlet"
    run = f"{circlet} run {given} && {circlet} partial {given}"
    assert terminal.to_run(path) == run  # there is no workflow in a wheel
    monkeypatch.undo()
    monkeypatch.chdir(ROOT)
    assert terminal.to_run(path) == f"snakemake --cores all {given}"


# Edits of a new system, as (folder, old text, new text), and what check says of it.
BROKEN = {
    "slope": (
        "equations", "def metrics(",
        "def gradients(weights, batch, out):\n    for array in out.values():\n"
        "        array.fill_(1)\n\n\ndef metrics(",
        "gradients() must be those of loss()"),
    "looking": (  # runs that look at each other
        "equations", "    order = seeds",
        "    _seen.append(1)\n    target = (target + len(_seen)) % p\n    order = seeds",
        "common causes are weights that are also kept in a list or a closure"),
    "epochs": (
        "systems", "SystemSpec(\n",
        "SystemSpec(\n    steps_per_epoch=lambda batch_size, **_: 3,\n",
        "steps_per_epoch gives 3 at the defaults, but 423 examples in batches of 64 take 7"),
    "failing": (
        "equations", "self.layers(self.embed(pairs)", "self.layer(self.embed(pairs)",
        "equations/failing.py:20: AttributeError: 'Network' object has no attribute 'layer'"),
    "branching": (  # something that vmap cannot do
        "equations", "    pairs, target = examples\n    return",
        "    pairs, target = examples\n    if network(pairs).sum() > 0:\n        pass\n    return",
        "use torch.where in place of `if`"),
}  # fmt: skip


def errors(mine, capsys):
    """Return the lines of errors that ``circlet check`` prints."""
    status, printed = checked(mine, capsys)
    wrong = [line for line in printed.splitlines() if line.startswith("error")]
    assert int(status.split()[0]) == len(wrong)
    return wrong


def test_check_says_what_is_wrong_with_each_system(mine, capsys):
    for name, (kind, old, replacement, _) in BROKEN.items():
        new.make("system", mine, name)
        edit(mine / f"{kind}/{name}.py", old, replacement)
    size = '        "batch_size": integer("Examples of a step.", 64, minimum=1),\n'
    edit(mine / "systems/epochs.py", '        "d": dimension', size + '        "d": dimension')
    edit(mine / "equations/looking.py", "class Network", "_seen = []\n\n\nclass Network")
    wrong = errors(mine, capsys)
    for name, (*_, said) in BROKEN.items():
        assert any(said in line and name in line for line in wrong), (name, wrong)


def test_check_says_what_is_wrong_with_tables_and_figures(mine, capsys):
    with_everything(mine)
    new.make("table", mine, "named")
    rows = '    rows = log_frames.final(study, "parameters")'
    edit(mine / "tables/sizes.py", rows, f'{rows}\n    rows["run_id"].iloc[0]')
    edit(mine / "tables/named.py", 'rename("weight_norm")', 'rename("norm")')
    finished = 'rows[rows["status"] == "finished"].iloc[0]'
    edit(mine / "figures/sizes.py", "figure = Figure(", f"{finished}\n    figure = Figure(")
    edit(mine / "systems/sums.py", "Spec(\n", 'Spec(\n    run_columns={"sise": "size"},\n')
    wrong = errors(mine, capsys)
    for said in (
        f"error table {mine.name}.sizes if all diverged: ",
        f"error figure {mine.name}.sizes if all diverged: ",
        "missing columns ['weight_norm'], undeclared ['norm']",
        "systems/sums.py: SYSTEM: the list of runs has no column 'sise'",
    ):
        assert any(said in line for line in wrong), wrong


def test_check_tries_interventions_and_a_run_says_what_is_wrong(mine, capsys, error_of, tmp_path):
    file = mine / "interventions/zero.py"
    file.parent.mkdir()
    file.write_text('ARGUMENTS = {}\ndef apply(arrays, stream, parent):\n    return arrays["x"]\n')
    status, said = checked(mine, capsys)
    assert status == "1 error" and "0 figures, 1 intervention;" in said
    assert f"error {mine.name}.zero: {file}:3: KeyError: 'x'" in said
    settings = {"system": "constant_attention", "steps": 1, "seeds": {"count": 1}}
    settings["interventions"] = [{f"{mine.name}.zero": {}}]
    study = {"results": str(tmp_path / "r"), "experiments": {"e": settings}}
    said = error_of("run", "--study", json.dumps(study), "--collections", mine)
    assert said == f"error: {file}:3: KeyError: 'x'\n"


def test_check_tries_a_gradient_without_a_loss():
    """The gradients of the shipped systems agree with finite differences."""
    from circlet import check

    for name in ("constant_attention", "embedding_mlp", "sparse_transformer"):
        parameters = {"p": 7} if name != "sparse_transformer" else {"n_train": 64}
        point = point_of(system=name, steps=3, dtype="float64", parameters=parameters)
        assert check._slope(point) == "gradients() agree with finite differences of train_loss"


# An operation that vmap does run by run, with a warning.
SLOW = """    pairs, target = examples
    torch.renorm(next(network.parameters()), 2, 0, 1.0)
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_check_shows_a_warning_once(mine, capsys):
    new.make("system", mine, "sums")
    edit(mine / "equations/sums.py", "    pairs, target = examples\n", SLOW)
    status, said = checked(mine, capsys)
    assert status is None
    assert said.count("batching rule for aten::renorm") == 1


def study_of(folder, results):
    """Return the study as a newly started process sees it."""
    fingerprint.forget()
    declared_systems._spec.cache_clear()
    for name in [m for m in sys.modules if m.startswith(f"circlet.collections.{folder.name}.")]:
        del sys.modules[name]
    small = experiment(f"{folder.name}.quadratic", steps=3)
    return planned(results, {"collections": [str(folder)]}, x=small)


EDITS = {
    "a docstring": ("equations", '"""Logits are', '"""Logits are, of course,', "done"),
    "its loss": ("equations", "0.8 * len", "0.7 * len", "outdated"),
    "a default": ("systems", '"Neurons.", 8', '"Neurons.", 9', "waiting"),  # part of its name
    "a default that no name has": (
        "systems",
        '"learning_rate": LEARNING_RATE',
        '"learning_rate": integer("x", 1)',
        "outdated",
    ),
    "a schedule that no config gives": (
        "systems",
        '"curves": Log({"every": 10})',
        '"curves": Log({"every": 1})',
        "outdated",
    ),
    "a description": ("systems", '"Neurons."', '"Hidden neurons."', "done"),
}


@pytest.mark.parametrize(("kind", "old", "replacement", "state"), EDITS.values(), ids=EDITS)
def test_runs_follow_the_equations(network, tmp_path, kind, old, replacement, state):
    study = study_of(network, tmp_path / "results")
    job.run_block(next(study.blocks), "cpu")
    assert [now for _, now in progress.states(study)] == ["done"]
    edit(network / kind / "quadratic.py", old, replacement)
    again = study_of(network, tmp_path / "results")
    assert [now for _, now in progress.states(again)] == [state]
    said = list(progress.edited_systems(again, progress.states(again)))
    assert said == []  # there is no version to raise


def test_an_imported_module_of_its_collection_counts(network, tmp_path):
    (network / "shared.py").write_text("SHARE = 0.8\n")
    file = network / "equations/quadratic.py"
    imports = f"import torch\nfrom circlet.collections.{network.name} import shared\n"
    edit(file, "import torch\n", imports)
    edit(file, "0.8 * len", "shared.SHARE * len")
    before = study_of(network, tmp_path).points[0].version
    (network / "shared.py").write_text("SHARE = 0.7\n")
    assert study_of(network, tmp_path).points[0].version != before
    (network / "unused.py").write_text("SHARE = 0.7\n")
    assert study_of(network, tmp_path).points[0].version != before


@pytest.mark.parametrize("name", ["commit", "shown", "data_seed", "run_id", "width"])
def test_metrics_have_names_of_their_own(network, name):
    file = network / "systems/quadratic.py"
    edit(file, "metrics=CROSS_ENTROPY", f'metrics={{"{name}": Metric("x")}}')
    edit(file, "import Log, SystemSpec", "import Log, Metric, SystemSpec")
    with pytest.raises(ConfigError, match=f"metrics: '{name}' must be"):
        study_of(network, "results")
