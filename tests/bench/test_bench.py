"""The benchmark measures what it says. No test requires a speed."""

import itertools
import json
import time

import pytest
import torch
from conftest import ROOT, config

from circlet import bench, cli, native
from circlet.bench import machine, pipeline, plain, training
from circlet.errors import CircletError
from circlet.study import cost, registry, targets
from circlet.study.plan import Study
from circlet.systems import matmul
from circlet.training import native_run

CPU = torch.device("cpu")
SYSTEMS = sorted(plain.systems())
SPECS = registry.Systems(registry.SHIPPED)
ABOUT = {"flops": 1e11, "torch_flops": 1e11, "copied": 1e10}  # a machine of round figures


def test_rates_are_those_of_a_processor():
    about = machine.describe(CPU, seconds=0.05)
    assert all(about[name] > 0 for name in ABOUT)
    assert about["versions"]["torch"] == torch.__version__


@pytest.fixture(scope="module")
def rows():
    return list(training.measure(SYSTEMS, CPU, ABOUT, repeats=2, seconds=0.02))


def test_a_row_is_consistent(rows):
    assert [row["system"] for row in rows] == SYSTEMS
    for row in rows:
        for ms in (*row["ms"].values(), *row["cpu_ms"].values()):
            assert 0 < ms["min"] <= ms["median"] <= ms["max"]
        assert row["circlet"] == ("pytorch" if native.missing() else "kernel")
        plain_loop = row["cpu_ms"]["plain"]["median"]
        for way in row["ms"].keys() - {"plain"}:
            ours = row["cpu_ms"][way]["median"]
            assert row["times_plain"][way] == pytest.approx(plain_loop / ours)
            assert row["cpu_seconds"][way] == pytest.approx(ours * row["steps"] / 1000)
        least = max(row["floor_ms"].values())
        assert row["times_floor"] == pytest.approx(row["cpu_ms"][row["circlet"]]["median"] / least)


def test_without_kernels_a_job_takes_pytorch(monkeypatch):
    monkeypatch.setattr(native, "uncovered", lambda *_: "there are none")
    assert list(training.ways(SYSTEMS[0])) == ["plain", "module", "pytorch"]


def test_a_window_counts_runs_and_steps(monkeypatch):
    """Two seconds of the clock for 10 runs of 4 steps are 50 ms per run and step."""
    now, waited = [100.0], []
    monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(training.time, "process_time", lambda: now[0] / 2)

    def advance(until):
        now[0] = until
        return 40

    found = training.window(advance, 2, lambda: waited.append(1))
    assert (found.wall, found.cpu) == (50, 25)
    assert len(waited) == 2


# Multiplications and additions of a step, counted by hand, at 100 GFLOP/s.
@pytest.mark.parametrize(
    ("system", "operations"),
    [
        # Two products of 153 x 2 by 2 x 153, in double precision, which is half as fast.
        ("particles", 2 * 2 * 2 * 153**2 * 2),
        # 32 sequences: values by attention, both layers of the MLP, logits; three products each.
        ("sparse_transformer", 3 * 2 * 32 * (24 * 2 + 2 * 32 * 2 + 3 * 2)),
        # In the layers of pairs, and in the tables.
        ("embedding_mlp", 266e6 + 9e6),
    ],
)
def test_the_floor_counts_products_at_the_rate_of_the_faster_library(system, operations):
    found = training.floor(system, ABOUT)["products"]
    assert found == pytest.approx(operations / 1e8, rel=0.01)
    for faster in ("flops", "torch_flops"):
        assert training.floor(system, ABOUT | {faster: 2e11})["products"] == found / 2


def test_the_floor_counts_values_and_moments_of_adam():
    values = 59 * 128 + 100 * 257 + 100 * 101 + 59 * 101
    found = training.floor("embedding_mlp", ABOUT)["memory"]
    assert found == pytest.approx(1000 * values * 6 * 4 / 1e10)


def test_projection_scales_the_plan():
    """Half as fast as the plan expects: twice its time."""
    system, other = SYSTEMS[:2]
    study = Study.of(
        config(system=system, steps=2000, block=10, seeds={"count": 50}, sweep={"d": [2, 3]})
    )
    case = training.block(system, 100)
    planned = 1000 * cost.cpu_seconds(case) / case.point.steps / 100
    row = {"system": system, "all_cores_ms": {"median": 2 * planned}}
    (found,) = bench.projected(study, [row, {"system": other}])
    assert (found["runs"], found["run_steps"]) == (100, 200_000)
    expected = sum(cost.cpu_seconds(block) for block in study.blocks)
    assert found["hours"] == pytest.approx(2 * expected / 3600)


def at_once(monkeypatch):
    """Every window is one call, and returns what was done in it."""
    monkeypatch.setattr(training, "window", lambda advance, seconds, *_: advance(seconds))


def test_a_block_counts_the_runs_and_steps_of_a_window(monkeypatch):
    made = []

    def run_group(point, seeds, device):
        made.append(seeds)
        for number in itertools.count():
            passed.append(number)
            yield number

    passed = []  # a second each
    monkeypatch.setattr(training.time, "perf_counter", lambda: len(passed))
    monkeypatch.setattr(training, "run_group", run_group)
    at_once(monkeypatch)
    for system in SYSTEMS:
        runs = plain.of(system).CASE.runs
        together = training.block(system, runs).point.cpu_batch(runs)
        passed.clear()
        way = training.pytorch(system, runs, CPU)
        assert len(made[-1]) == together  # as in a job
        # The initial arrays are no step; a window ends with the step in which its time is over.
        assert [way(6), way(0), way(10)] == [5 * together, together, 3 * together]


@pytest.mark.skipif(bool(native.missing()), reason="there is no C++ compiler")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_kernel_counts_the_steps_of_a_window(monkeypatch, system):
    """Of one run after another."""
    at_once(monkeypatch)
    monkeypatch.setattr(training, "STEPS", 100)
    made = []
    run = native_run.NativeRun
    monkeypatch.setattr(native_run, "NativeRun", lambda *own: made.append(run(*own)) or made[-1])
    way = training.circlet(system, 1, CPU)
    done = sum(way(time.perf_counter() + 0.1) for _ in range(3))
    assert done == sum(one.done for one in made)
    assert [one.done for one in made[:-1]] == [100] * (len(made) - 1)


def test_the_plain_loop_counts_the_steps_of_a_window(monkeypatch):
    class Run:
        def step(self, number):
            numbers.append(number)

    numbers = []
    monkeypatch.setattr(plain, "one", lambda *_: Run())
    at_once(monkeypatch)
    way = training.one(SYSTEMS[0])
    for _ in range(2):
        before = len(numbers)
        assert way(time.perf_counter() + 0.001) == len(numbers) - before > 0
    assert numbers == list(range(1, len(numbers) + 1))


def windows(*walls, cpu=None):
    return [training.Time(wall, wall if cpu is None else cpu) for wall in walls]


def test_ratios_say_who_is_faster():
    found = {
        "plain": [training.Time(8.0, 6.0)],
        "module": [training.Time(4.0, 2.0)],
        "pytorch": [training.Time(2.0, 1.0)],
        "core": [training.Time(5.0, 5.0)],
    }
    least = {"products": 0.5, "memory": 0.1}
    of_cpu = training.compared(found, least, steps=3000, cuda=False)
    assert (of_cpu["times_plain"], of_cpu["times_floor"]) == ({"module": 3, "pytorch": 6}, 2)
    assert of_cpu["circlet"] == "pytorch"
    assert of_cpu["cpu_seconds"] == {"plain": 18, "pytorch": 3, "module": 6, "core": 15}
    of_gpu = training.compared(found, least, steps=3000, cuda=True)
    assert (of_gpu["times_plain"], of_gpu["times_core"]) == ({"module": 2, "pytorch": 4}, 2.5)


def test_processes_side_by_side_share_the_work():
    found = training.combined([(windows(2, 4, 3), 100.0), (windows(2, 4, 3, cpu=1.5), 300.0)])
    assert found["ms"] == {"median": 1.5, "min": 1, "max": 2}
    assert found["cpu_ms"]["median"] == pytest.approx(1 / (1 / 3 + 1 / 1.5))
    assert found["had"] == pytest.approx((3 + 1.5 / 2 + 1.5 / 4 + 1.5 / 3) / 6)
    assert found["peak_mb"] == 300


class Calls:
    """A function whose calls take given seconds of a fake clock."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.made, self.seconds = 0.0, 0, iter(seconds)
        for clock in ("perf_counter", "process_time"):
            monkeypatch.setattr(machine.time, clock, lambda: self.now)

    def __call__(self):
        self.made += 1
        self.now += next(self.seconds)


# The first call, which pays for page faults, does not count: a copy once took a second there, used
# up the time, and gave 0.6 GB/s instead of 40.
@pytest.mark.parametrize(
    ("took", "seconds", "calls", "rate"),
    [
        ([3, 2, 1, 4, 5, 6, 7], 18, 6, 6),  # the time is over in the fifth call that counts
        ([6.0] + 20 * [0.125], 0, 6, 48),
        ([6.0] + 20 * [0.125], 0.5, 6, 48),
        ([2, 2, 2, 2, 2, 1], 0.5, 6, 6),  # each beyond the time
        (9 * [2] + [1, 2], 17, 10, 6),
    ],
)
def test_a_rate_is_that_of_the_best_of_several_calls(monkeypatch, took, seconds, calls, rate):
    call = Calls(monkeypatch, took)
    assert machine.rate(6, call, CPU, seconds=seconds) == rate
    assert call.made == calls


def test_rates_count_all_the_work(monkeypatch):
    called = []

    def rate(work, function, device, seconds):
        called.append(function())
        return work

    monkeypatch.setattr(machine, "SIZE", {"cpu": 8})
    monkeypatch.setattr(machine, "COPIED", 64)
    monkeypatch.setattr(machine, "rate", rate)
    about = machine.describe(CPU)
    assert about["flops"] == about["torch_flops"] == 2 * 8**3
    assert about["copied"] == 2 * 64
    default, ours, copy = called
    torch.testing.assert_close(default, ours)
    assert copy.nbytes == 64
    assert torch.equal(copy, torch.ones(16))


def test_products_of_all_libraries_are_counted_as_products():
    for a in (torch.randn(1, 100, 100), torch.randn(2, 100, 100)):
        with torch.autograd.profiler.profile() as profiler:
            matmul.matmul(a, a)
        names = [
            e.key.split("::")[-1]
            for e in profiler.key_averages()
            if "mm" in e.key or "linear" in e.key
        ]
        assert set(names) - {"matmul"} <= set(training.KINDS)
        assert names


def test_logs_are_by_what_steps_with_them_are_slower(monkeypatch):
    def pytorch(system, runs, device, logs):
        return lambda seconds: training.Time(1.0 + logs, 1.0 + logs)

    monkeypatch.setattr(training, "pytorch", pytorch)
    assert training.shares(SYSTEMS[0], 0.05)["logs"] == 0.5


@pytest.mark.parametrize("system", SYSTEMS)
def test_shares_sum_to_one(system):
    found = training.shares(system, 0.05)
    assert sum(found.values()) == pytest.approx(1)
    assert min(found.values()) >= 0
    assert found["products"] > 0


@pytest.fixture
def small_pipeline(monkeypatch):
    """A pipeline of two blocks, which takes seconds."""
    monkeypatch.setattr(pipeline, "RUNS", 4)
    monkeypatch.setattr(pipeline, "BLOCK", 2)


@pytest.mark.slow  # half a minute
def test_the_command(capsys, monkeypatch, small_pipeline):
    monkeypatch.setattr(bench, "SECONDS", 0.02)
    monkeypatch.setattr(bench, "REPEATS", 1)
    monkeypatch.setattr(pipeline, "REPEATS", 1)
    cli.main(["bench", "--json"])
    measured = json.loads(capsys.readouterr().out)
    parts = {row["what"] for row in measured["pipeline"]}
    assert parts >= {"plan", "tables", "figures", "report and explorer"}
    for row in measured["training"]:
        assert 0 < row["all_cores_ms"]["min"] <= row["all_cores_ms"]["max"]
        assert 50 < row["peak_mb"] < 2000
    text = bench.text(measured)
    assert [row["system"] for row in measured["training"]] == SYSTEMS
    assert all(system in text for system in SYSTEMS)
    assert "jobs of blocks" in text


def a_machine(device="cpu", **changes):
    about = {
        "device": device, "processor": "Z80", "cores": 2, "instructions": "AVX2",
        "python": "3.12.1", "versions": {"circlet": "0.1", "torch": "2.13", "pandas": None},
        "flops": 2.5e11, "torch_flops": 1.1e11, "copied": 4.07e10,
        "kernels": "avx2", "no_kernels": "",
    }  # fmt: skip
    return about | changes


def printed(rows, device="cpu", **changes):
    measured = {"machine": a_machine(device), "training": rows, "pipeline": [], "study": []}
    measured |= changes
    return bench.text(measured).splitlines()


def a_row(**changes):
    """All numbers differ, so that no column can be mistaken for another."""

    def values(median):
        return {"median": median, "min": 0.9 * median, "max": 1.1 * median}

    row = {
        "system": "some_network", "runs": 100, "together": 50, "steps": 2000,
        "ms": {
            "plain": values(0.3), "module": values(0.06), "pytorch": values(0.03),
            "kernel": values(0.012),
        },
        "circlet": "kernel", "times_core": 40.0,
        "times_plain": {"module": 5.1, "pytorch": 10.2, "kernel": 24.0},
        "floor_ms": {"products": 0.0025, "memory": 0.001},
        "times_floor": 5.0, "all_cores_cpu_ms": values(0.006), "had": 0.99, "peak_mb": 321.0,
        "cpu_seconds": {"plain": 0.6, "kernel": 0.025},
        "shares": {"products": 0.6, "python": 0.4},
    }  # fmt: skip
    row["cpu_ms"] = row["ms"]
    return row | changes


def test_a_printed_row_has_its_figures_in_their_columns():
    lines = printed([a_row()])
    header, row = lines[5].split("  "), lines[7]
    columns = [column.strip() for column in header if column.strip()]
    assert columns == [
        "system", "runs", "plain loop", "module", "PyTorch", "kernel", "all cores", "times one",
        "floor", "times floor", "MB",
    ]  # fmt: skip
    assert row.split(None, 1)[1].strip() == (
        "50 of 100  300 (270 … 330)  60.0 (54.0 … 66.0)  30.0 (27.0 … 33.0)  12.0 (10.8 … 13.2)"
        "  6.00 (5.40 … 6.60)       2.00   2.50          5.0  321"
    )
    assert lines[:3] == [
        "Z80, 2 cores, AVX2; Python 3.12.1, torch 2.13",
        "float32 on one core: products 250 GFLOP/s (PyTorch's default 110), copies 40.7 GB/s",
        "Native kernels: avx2.",
    ]
    ratios = lines.index("Times as fast as the plain loop, of CPU time")
    assert lines[ratios + 1].split() == ["system", "module", "PyTorch", "kernel"]
    assert lines[ratios + 3].split() == ["some_network", "5.1", "10.2", "24.0"]
    seconds = lines.index("CPU-seconds of a whole run")
    assert lines[seconds + 1].split() == ["system", "steps", "plain", "loop", "kernel"]
    assert lines[seconds + 3].split() == ["some_network", "2000", "0.600", "0.0250"]
    shares = next(i for i, line in enumerate(lines) if line.startswith("What the time"))
    assert lines[shares + 1].split() == ["system", "products", "Python"]
    assert lines[shares + 3].split() == ["some_network", "60", "%", "40", "%"]


@pytest.mark.parametrize(
    ("column", "fine", "odd", "usual", "said"),
    [
        ("had", 0.96, 0.8, "Others use this machine", "all cores had 80 % of their time"),
        ("times_floor", 1.0, 0.96, "faster than the floor", "another (0.96). The rates"),
    ],
)
def test_what_spoils_a_measurement_is_said(column, fine, odd, usual, said):
    good, bad = a_row(**{column: fine}), a_row(**{column: odd}, system="another")
    assert usual not in "\n".join(printed([good]))
    (line,) = (line for line in printed([good, bad]) if usual in line)
    assert said in line and "some_network" not in line


def test_what_a_gpu_would_print():
    row = a_row()
    row["ms"]["core"] = row["ms"].pop("kernel")
    lines = printed([row | {"circlet": "pytorch"}], device="GPU of a test")
    assert lines[0].startswith("GPU of a test, Z80, ")
    assert lines[1].startswith("float32 on the GPU: ")
    assert not any(line.startswith("What the time") for line in lines)
    assert "  12.0 (10.8 … 13.2)          40   2.50" in lines[7]


def test_why_there_are_no_kernels_is_said():
    without = a_machine(kernels="", no_kernels="the native kernels are not built: install")
    assert printed([a_row()], machine=without)[2] == without["no_kernels"]


def test_times_of_a_study_are_printed_in_a_fitting_unit():
    study = [{"system": "another", "runs": 3, "run_steps": 2e6, "hours": 23.3}]
    assert printed([a_row()], study=study)[-1].split() == ["another", "3", "2.0", "23", "h"]


def test_what_was_measured_once_has_no_spread():
    rows = [
        {"what": "plan", "times": 1, "seconds": {"median": 0.5, "min": 0.25, "max": 1.0}},
        {"what": "tables", "times": 12, "seconds": dict.fromkeys(("median", "min", "max"), 2.0)},
    ]
    lines = printed([a_row()], pipeline=rows)
    assert lines[-2].split() == ["plan", "1", "0.500", "0.250", "1.000"]
    assert lines[-1].split() == ["tables", "12", "2.000"]


@pytest.mark.slow
def test_outside_of_the_project_the_dry_run_is_left_out(tmp_path, monkeypatch, small_pipeline):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "_command", lambda *command: None)
    found = {row["what"]: row for row in pipeline.measure()}
    assert not any("dry run" in what for what in found)
    made = targets.ordered(Study.of(pipeline._config(tmp_path / "results", 4)))
    for kind, what in pipeline.KINDS.items():
        assert found[what]["times"] == sum(target.kind == kind for target in made) > 0
    assert found["logs from Parquet"]["times"] == 2 * 5
    assert all(0 < row["seconds"]["min"] <= row["seconds"]["max"] for row in found.values())
    # What was timed of one is counted as often as there are.
    monkeypatch.setattr(pipeline, "_timed", lambda work: (work() and None) or [1.0] * 3)
    found = {row["what"]: row["seconds"]["median"] for row in pipeline.measure()}
    once = {"plan": 1, "logs from Parquet": 1}
    of_blocks = dict.fromkeys(
        ("start of jobs of blocks", "initial values and splits", "logs as tables"), 2
    )
    of_products = {"start of jobs of tables, figures, pages": len(made)}
    for what, seconds in (once | of_blocks | of_products | {"logs to Parquet": 2}).items():
        assert found[what] == seconds, what


def test_a_bench_of_a_pipeline_that_is_not_installed_ends_at_once(tmp_path, monkeypatch):
    def measured(*_):
        raise AssertionError("it began")

    monkeypatch.setattr(bench.machine, "describe", measured)
    missing = {"seaborn", "snakemake"}
    find_spec = pipeline.importlib.util.find_spec
    monkeypatch.setattr(
        pipeline.importlib.util,
        "find_spec",
        lambda name: None if name in missing else find_spec(name),
    )
    study = Study.of(config(tmp_path))
    monkeypatch.chdir(ROOT)
    with pytest.raises(CircletError, match=r"needs seaborn and snakemake.* --training-only"):
        bench.run(study, CPU)
    monkeypatch.chdir(tmp_path)  # where there is no workflow
    with pytest.raises(CircletError, match=r"needs seaborn,"):
        bench.run(study, CPU)
    missing.clear()
    with pytest.raises(AssertionError, match="it began"):
        bench.run(study, CPU)


def test_a_command_that_fails_is_one_line(tmp_path):
    with pytest.raises(CircletError, match=r"nonsense .*failed: error"):
        pipeline._command("circlet", "table", "nonsense", "--study", json.dumps(config(tmp_path)))
