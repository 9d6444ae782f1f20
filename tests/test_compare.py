import math
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from circlet import cli, compare

LOG = "logs/e/p5_d2/seeds_00000-00001/parameters.parquet"
RUNS, TABLE = LOG.replace("parameters", "runs"), "tables/heads.parquet"
NAN = math.nan
FILES = {
    LOG: {
        "system": ["s", "s", "s", "s"],
        "seed": [0, 0, 1, 1],
        "step": pa.array([0, 1, 0, 1], pa.int32()),
        "norm": pa.array([0.25, 0.5, 0.75, 1], pa.float32()),
        "values": pa.array([[1, 2], [3], None, [5, None, NAN]], pa.list_(pa.float32())),
    },
    RUNS: {"system": ["s", "s"], "seed": [0, 1], "loss": [0.25, 0.5], "seconds": [1.0, 2.0]},
    TABLE: {
        "experiment": ["e", "e", "f"],
        "run_id": ["e/p5_d2/s00000", "e/p5_d2/s00001", None],
        "loss": [0.5, NAN, None],
        "success": [True, None, False],
    },
}


def write(folder, files):
    for name, columns in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), folder / name)
    return folder


@pytest.fixture
def results(tmp_path):
    """Two equal results folders."""
    return write(tmp_path / "a", FILES), write(tmp_path / "b", FILES)


def edit(folder, name, rows=None, **columns):
    """Rewrite a file with changed columns (None: without it) and all or some rows."""
    table = pa.table({k: v for k, v in (FILES[name] | columns).items() if v is not None})
    write(folder, {name: table if rows is None else table.take(rows)})


def lines(results, **options):
    """Return the lines on files, without the last two, which do not decide."""
    said, equal = compare.folders(*results, **options)
    *differing, counts, _ = said.splitlines()
    assert equal == (not differing)
    assert counts == f"compared 3 files: {len(differing)} differ, 0 only in A or B"
    return differing


def test_equal_folders(results):
    folder = results[1]
    write(folder, {"tables/.heads.1234.parquet": {"x": [1]}})  # a temporary file of another process
    (folder / "tables/heads.csv").write_text("x")
    (folder / "logs/e").rename(folder / "moved")
    (folder / "logs/e").symlink_to(folder / "moved")
    edit(folder, RUNS, **dict(reversed(FILES[RUNS].items())))
    assert lines(results) == []


@pytest.mark.parametrize(
    "name, columns, said",
    [
        (RUNS, {"loss": [1e-5, 1.5]}, "loss: 2 of 2 rows differ, by up to 1, relative 1 at row 0, "
         "seed=0"),
        (RUNS, {"loss": [0.25, 0.5 + 1e-9]}, "loss: 1 of 2 rows differ, by up to 1e-09, relative "
         "2e-09 at row 1, seed=1"),
        (RUNS, {"loss": [-math.inf, 0.5]}, "loss: 1 of 2 rows differ, e.g. at row 0, seed=0"),
        (RUNS, {"loss": [0.25, NAN]}, "loss: 1 of 2 rows differ, e.g. at row 1, seed=1"),
        (RUNS, {"loss": None}, "loss: double in A, missing in B"),
        (RUNS, {"x": [1, 2]}, "x: missing in A, int64 in B"),
        (RUNS, {"loss": ["0.25", "0.5"]}, "loss: double in A, string in B"),
        (LOG, {"norm": pa.array([0.25, 0.5, 0.25, 1], pa.float32())}, "norm: 1 of 4 rows differ, "
         "by up to 0.5, relative 0.67 at row 2, seed=1, step=0"),
        (LOG, {"system": ["s", "s", None, "t"]}, "system: 2 of 4 rows differ, e.g. at row 2, "
         "seed=1, step=0"),
        (TABLE, {"loss": [0.5, None, None]}, "loss: 1 of 3 rows differ, e.g. at row 1, "
         "run_id=e/p5_d2/s00001"),
        (TABLE, {"success": [True, True, False]}, "success: 1 of 3 rows differ, e.g. at row 1, "
         "run_id=e/p5_d2/s00001"),
        (LOG, {"values": [[1, 2], [3], None, [5, None, 6]]}, "values: 1 of 4 rows differ, e.g. at "
         "row 3, seed=1, step=1"),
        (LOG, {"values": [[2, 3], [4], None, [5, None, NAN]]}, "values: 2 of 4 rows differ, by up "
         "to 1, relative 0.5 at row 0, seed=0, step=0"),
        (LOG, {"values": [[9, 2], [3], [], [5, NAN]]}, "values: 3 of 4 rows differ, e.g. at row "
         "2, seed=1, step=0"),
    ],
)  # fmt: skip
def test_a_difference_is_said_and_located(results, name, columns, said):
    if "values" in columns:
        columns = {"values": pa.array(columns["values"], pa.list_(pa.float32()))}
    edit(results[1], name, **columns)
    assert lines(results) == [f"{name}: {said}"]
    edit(results[0], name, **columns)  # any value equals itself
    assert lines(results) == []


def test_the_most_different_column_is_measured_and_three_more_are_named(results):
    for folder, c, other in zip(results, (1.0, 1.25), (1.0, 1.1), strict=True):
        edit(folder, RUNS, **{name: [1.0, c if name == "c" else other] for name in "abcdef"})
    assert lines(results) == [
        f"{RUNS}: c: 1 of 2 rows differ, by up to 0.25, relative 0.2 at row 1, seed=1; also a, b, d"
    ]


def test_three_keys_name_a_row(results):
    for folder, x in zip(results, ([1.0, 1.0], [1.0, 2.0]), strict=True):
        edit(folder, RUNS, p=[2, 3], d=["x", None], more=[4, 5], x=x)
    assert lines(results)[0].endswith(" at row 1, seed=1, p=3, d=None")


@pytest.mark.parametrize("name, column", [(RUNS, "loss"), (LOG, "values")])
def test_a_relative_tolerance(results, name, column):
    value = FILES[name][column]
    larger = [0.25, 0.5 * (1 + 1e-5)] if column == "loss" else pa.array(
        [[1, 2 * (1 + 1e-5)], *value.to_pylist()[1:]], value.type
    )  # fmt: skip
    edit(results[1], name, **{column: larger})
    for rtol, said in ((0, 1), (0.9e-5, 1), (1.1e-5, 0)):
        assert len(lines(results, rtol=rtol)) == said
    edit(results[1], RUNS, loss=[0.25, NAN])
    assert len(lines(results, rtol=1e300)) == 1


def test_no_values_are_compared_if_the_numbers_of_rows_differ(results):
    edit(results[1], LOG, rows=[1, 2, 3], norm=pa.array([7, 8, 9, 9], pa.float32()))
    assert lines(results) == [f"{LOG}: 4 rows in A, 3 in B"]


def test_columns_are_left_out(results):
    edit(results[1], RUNS, seconds=[1, 2], commit=["x", "y"], norm=[1, 2])
    assert lines(results, ignore=["norm"]) == []
    said, _ = compare.folders(*results, rtol=1e-6, ignore=["norm"])
    assert said.splitlines()[-1] == (
        "tolerance: --rtol 1e-06; columns left out: seconds, hours, device, machine, commit, "
        "versions, interruptions, norm"
    )


def test_missing_files_and_folders_are_a_line_each(results):
    a, b = results
    shutil.rmtree(b / "logs")
    (b / TABLE).rename(b / "tables/other.parquet")
    said, equal = compare.folders(a, b)
    assert not equal
    assert said.splitlines()[:-1] == [
        "logs/e: only in A (files: 2)",
        "tables/heads.parquet: only in A (files: 1)",
        "tables/other.parquet: only in B (files: 1)",
        "compared 0 files: 0 differ, 4 only in A or B",
    ]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_file_differs_and_does_not_end_the_comparison(results, side, keep):
    path = results[side] / LOG
    path.write_bytes(path.read_bytes()[:keep])
    edit(results[1], RUNS, loss=[0.25, 0.75])
    first, second = lines(results)
    assert first.startswith(f"{LOG}: {path}: is damaged (")
    assert second.startswith(f"{RUNS}: loss: ")


def test_a_damaged_text_is_found_before_it_is_shown(results):
    path = results[1] / TABLE
    pq.write_table(pa.table(FILES[TABLE]), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"e/p5", b"e\xffp5"))
    assert lines(results)[0].startswith(f"{TABLE}: {path}: is damaged (")


def test_the_command_line(results, capsys):
    a, b = map(str, results)
    cli.main(["compare", a, b, "--values"])
    assert "compared 3 files: 0 differ" in capsys.readouterr().out
    edit(results[1], RUNS, loss=[0.25, 0.5 + 1e-9])
    with pytest.raises(SystemExit, match="1"):
        cli.main(["compare", a, b, "--values"])
    assert "loss: 1 of 2 rows differ" in capsys.readouterr().out
    for options in (["--rtol", "1e-6"], ["--ignore", "norm", "loss"]):
        cli.main(["compare", a, b, "--values", *options])


@pytest.mark.parametrize(
    "folder, options, error",
    [
        ("nowhere", [], "nowhere: there is no such folder"),
        ("a/logs", [], "a/logs: has no logs/**/*.parquet and no tables/*.parquet"),
        ("b", ["--rtol", "-1"], "--rtol: must be a finite number of at least 0, not -1"),
        ("b", ["--rtol", "nan"], "not nan"),
        ("b", ["--rtol", "inf"], "not inf"),
    ],
)
def test_what_cannot_be_compared_is_one_line(results, error_of, folder, options, error):
    said = error_of("compare", results[0], results[0].parent / folder, "--values", *options)
    assert error in said and said.startswith("error: ") and said.count("\n") == 1
