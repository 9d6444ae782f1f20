import math
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from circlet import cli, compare

LOG = "logs/e/p5_d2/seeds_00000-00001/parameters.parquet"
RUNS, TABLE = LOG.replace("parameters", "runs"), "tables/heads.parquet"
NAN = math.nan
FILES = {
    LOG: {
        "seed": [0, 0, 1, 1],
        "step": pa.array([0, 1, 0, 1], pa.int32()),
        "norm": pa.array([0.1, 0.2, 0.3, 0.4], pa.float32()),
        "values": pa.array([[1, 2], [3], None, [5, None, NAN]], pa.list_(pa.float32())),
    },
    RUNS: {"system": ["s", "s"], "seed": [0, 1], "loss": [0.25, 0.5], "seconds": [1.0, 2.0]},
    TABLE: {
        "experiment": ["e", "e", "f"],
        "run_id": ["e/p5_d2/s00000", "e/p5_d2/s00001", None],
        "seed": [0, 1, 1],
        "loss": [0.5, NAN, None],
        "success": [True, None, False],
        "note": ["word " * 20, "", None],
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
    """Write a file again with other columns (None: without it), of all rows or some."""
    table = pa.table({k: v for k, v in (FILES[name] | columns).items() if v is not None})
    write(folder, {name: table if rows is None else table.take(rows)})


def lines(results, **options):
    """What is said of the files that differ, and the verdict."""
    said, equal = compare.folders(*results, **options)
    before, verdict = said.split("compared 2 logs and 1 tables: ")
    assert equal == (not before) == ("all equal" in verdict)
    return before.splitlines(), verdict.splitlines()


def test_equal_folders(results):
    folder = results[1]
    write(folder, {"tables/.heads.1234.parquet": {"x": [1]}})  # another process writes it
    write(folder, {"tables/old/heads.parquet": {"x": [1]}})
    (folder / "logs/e").rename(folder / "moved")
    (folder / "logs/e").symlink_to(folder / "moved")
    assert lines(results) == ([], ["all equal", "left out: seconds"])


@pytest.mark.parametrize(
    "name, columns, said",
    [
        (RUNS, {"loss": [0.25, 0.5 + 1e-9]}, "loss: 1 of 2 rows differ, by up to 1e-09, 2e-09 "
         "relative (0.5 and 0.500000001 at seed=1)"),
        (RUNS, {"loss": [1e-5, 1.5]}, "loss: 2 of 2 rows differ, by up to 1 (0.5 and 1.5 at "
         "seed=1), 1 relative (0.25 and 1e-05 at seed=0)"),
        (RUNS, {"loss": [-math.inf, 0.5]}, "loss: 1 of 2 rows differ, first 0.25 and -inf at "
         "seed=0"),
        (RUNS, {"loss": [0.25, NAN]}, "loss: 1 of 2 rows differ, first 0.5 and nan at seed=1"),
        (RUNS, {"loss": None}, "column loss only in A"),
        (RUNS, {"x": [1, 2], "y": [1, 2]}, "columns x, y only in B"),
        (RUNS, {"loss": ["0.25", "0.5"]}, "loss: double in A, string in B"),
        (LOG, {"norm": pa.array([0.1, 0.2, 0.7, 0.4], pa.float32())}, "norm: 1 of 4 rows differ, "
         "by up to 0.4, 0.57 relative (0.3 and 0.7 at seed=1 step=0)"),
        (LOG, {"step": pa.array([0, 1, 0, 2], pa.int32())}, "step: 1 of 4 rows differ, first 1 "
         "and 2 at seed=1 row 3"),
        (TABLE, {"loss": [0.5, None, None]}, "loss: 1 of 3 rows differ, first nan and null at "
         "run_id=e/p5_d2/s00001"),
        (TABLE, {"success": [True, None, None], "note": ["", "", None]},
         "success: 1 of 3 rows differ, first False and null at run_id=null; also note"),
        (TABLE, {"note": ["word " * 20 + 61 * "x", "", None]}, "note: 1 of 3 rows differ, first "
         "...'word word word word ' and ...'word word word word " + 40 * "x" + "'... at "
         "run_id=e/p5_d2/s00000"),
        (LOG, {"values": [[1, 2], [3], None, [5, None, 6]]}, "values: 1 of 4 rows differ, first "
         "nan and 6.0 in element 2 at seed=1 step=1"),
        (LOG, {"values": [[1, 3], [4], None, [5, None, NAN]]}, "values: 2 of 4 rows differ, by up "
         "to 1, 0.33 relative (2.0 and 3.0 in element 1 at seed=0 step=0)"),
        (LOG, {"values": [[1], [4], None, [5, None, NAN]]}, "values: 2 of 4 rows differ, first "
         "lengths 2 and 1 at seed=0 step=0"),
        (LOG, {"values": [[9, 2], [3], [], [5, NAN]]}, "values: 3 of 4 rows differ, first lengths "
         "null and 0 at seed=1 step=0"),
        (TABLE, {"note": [None, "", None]}, "note: 1 of 3 rows differ, first 'word word "
         "word word word word word word word word word word '... and null at "
         "run_id=e/p5_d2/s00000"),
    ],
)  # fmt: skip
def test_a_difference_is_said_and_located(results, name, columns, said):
    if "values" in columns:
        columns = {"values": pa.array(columns["values"], pa.list_(pa.float32()))}
    edit(results[1], name, **columns)
    (line,), (verdict, _) = lines(results)
    assert line == f"{name}  {said}"
    assert verdict == "1 differ"
    edit(results[0], name, **columns)  # whatever it is, it equals itself
    assert lines(results)[0] == []


def test_many_columns_that_differ_are_one_line(results):
    for folder, c, other in zip(results, (1.0, 1.2), (1.0, 1.1), strict=True):
        edit(folder, RUNS, **{name: [1.0, c if name == "c" else other] for name in "abcdef"})
    assert lines(results)[0] == [
        f"{RUNS}  c: 1 of 2 rows differ, by up to 0.2, 0.17 relative (1.0 and 1.2 at seed=1); "
        "also a, b, d and 2 more"
    ]


@pytest.mark.parametrize("name, column", [(RUNS, "loss"), (LOG, "values")])
def test_a_relative_tolerance(results, name, column):
    value = FILES[name][column]
    larger = [0.25, 0.5 * (1 + 1e-5)] if column == "loss" else pa.array(
        [[1, 2 * (1 + 1e-5)], *value.to_pylist()[1:]], value.type
    )  # fmt: skip
    edit(results[1], name, **{column: larger})
    for rtol, said in ((0, 1), (0.9e-5, 1), (1.1e-5, 0)):
        assert len(lines(results, rtol=rtol)[0]) == said
    assert lines(results, rtol=1e-4)[1][0] == "all equal within --rtol 0.0001"
    edit(results[1], RUNS, loss=[0.25, NAN])
    assert "first 0.5 and nan" in lines(results, rtol=1e300)[0][0]


@pytest.mark.parametrize("name", [LOG, RUNS, TABLE])
def test_the_same_rows_in_another_order(results, name):
    edit(results[1], name, rows=list(range(len(FILES[name]["seed"])))[::-1])
    said, (verdict, left_out) = lines(results)
    assert said == [f"{name}  rows in another order"]
    assert verdict == "1 differ (1 in row order only)"
    assert left_out == "left out: seconds"  # its values moved with their rows


@pytest.mark.parametrize(
    "column, values, said",
    [
        ("step", [0, 1, 7, 1], "first 0 and 7 at seed=1 row 2"),
        (
            "norm",
            [0.1, 0.8, 0.3, 0.4],
            "by up to 0.6, 0.75 relative (0.2 and 0.8 at seed=0 step=1)",
        ),
    ],
)
def test_another_order_hides_no_difference(results, column, values, said):
    changed = pa.array(values, pa.table(FILES[LOG])[column].type)
    edit(results[1], LOG, rows=[2, 0, 3, 1], **{column: changed})
    assert lines(results)[0] == [
        f"{LOG}  rows in another order; {column}: 1 of 4 rows differ, {said}"
    ]


def test_rows_that_keys_do_not_tell_apart_are_paired_by_their_floats(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"name": ["x", "y"] * 50, "loss": rng.random(100), "norm": rng.random(100)})
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, order in zip(folders, (np.arange(100), rng.permutation(100)), strict=True):
        write(folder, {TABLE: table.take(order)})
    assert "rows in another order\n" in compare.folders(*folders)[0]


def test_rows_stay_in_file_order_if_another_pairs_no_more_of_them(tmp_path):
    for name, x in (("a", [1.0, 2.0]), ("b", [4.0, 3.0])):
        write(tmp_path / name, {TABLE: {"x": x, "y": [5.0, 6.0], "seconds": [1.0, 2.0]}})
    said, _ = compare.folders(tmp_path / "a", tmp_path / "b")
    assert said.startswith(
        f"{TABLE}  x: 2 of 2 rows differ, by up to 3, 0.75 relative (1.0 and 4.0 at row 0)\n"
    )
    assert said.endswith("left out: seconds")


@pytest.mark.parametrize("longer", [0, 1])
def test_missing_rows_are_named_and_the_others_compared(results, longer):
    edit(results[1 - longer], LOG, rows=[1, 2, 3], norm=pa.array([0, 0.2, 0.3, 0.5], pa.float32()))
    (line,), _ = lines(results)
    pair = ["0.4 and 0.5", "0.5 and 0.4"][longer]
    assert line == (
        f"{LOG}  {['4 rows in A, 3', '3 rows in A, 4'][longer]} in B (only in {'AB'[longer]}: "
        f"seed=0 step=0); norm: 1 of 3 rows differ, by up to 0.1, 0.2 relative ({pair} at "
        "seed=1 step=1)"
    )


def test_columns_that_may_differ_are_left_out_and_counted(results):
    edit(results[1], RUNS, seconds=[1, 2], commit=["x", "y"], device=[1, 2])
    said, (verdict, left_out) = lines(results)
    assert (said, verdict) == ([], "all equal")
    assert left_out == (
        "left out: seconds (differs in 1 of 1 files), device (differs in 1 of 1 files), "
        "commit (differs in 1 of 1 files)"
    )
    edit(results[1], LOG, norm=None)
    assert len(lines(results)[0]) == 1
    said, (_, left_out) = lines(results, ignore=["norm", "nrom"])
    assert said == []
    assert left_out.endswith(", norm (differs in 1 of 1 files), nrom (in no file)")


def test_missing_files_and_folders_are_a_line_each(results):
    a, b = results
    shutil.rmtree(b / "logs")
    (b / TABLE).rename(b / "tables/other.parquet")
    said, equal = compare.folders(a, b)
    assert not equal
    assert said.splitlines() == [
        "logs                  only in A (2 files)",
        "tables/heads.parquet  only in A",
        "tables/other.parquet  only in B",
        "compared 0 logs and 0 tables: 3 only in A, 1 only in B",
    ]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_file_differs_and_does_not_end_the_comparison(results, side, keep):
    path = results[side] / LOG
    path.write_bytes(path.read_bytes()[:keep])
    edit(results[1], RUNS, loss=[0.25, 0.75])
    (first, second), (verdict, _) = lines(results)
    assert first.startswith(f"{LOG}  damaged in {'AB'[side]} (")
    assert second.startswith(f"{RUNS}        loss: ")  # aligned
    assert verdict == "2 differ"


def test_a_damaged_text_is_found_before_it_is_shown(results):
    path = results[1] / TABLE
    pq.write_table(pa.table(FILES[TABLE]), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"word ", b"w\xffrd "))
    assert lines(results)[0][0].startswith(f"{TABLE}  damaged in B (Column ")


def test_figures_are_counted_and_do_not_decide(results):
    for folder, figures in zip(results, ("xyz", "xy"), strict=True):
        (folder / "figures").mkdir()
        for name in figures:
            figure = folder / f"figures/{name}.png"
            figure.write_text(f"{name}{folder.name if name == 'y' else ''}")
            os.utime(figure, (0, 0))
    said, (*_, last) = lines(results)
    assert (said, last) == ([], "figures: 1 of 3 have the same bytes")


def test_the_command_line(results, capsys, caplog):
    a, b = map(str, results)
    cli.main(["compare", a, b])
    assert "compared 2 logs and 1 tables: all equal" in capsys.readouterr().out
    edit(results[1], RUNS, loss=[0.25, 0.5 + 1e-9])
    with pytest.raises(SystemExit, match="1"):
        cli.main(["compare", a, b])
    assert "loss: 1 of 2 rows differ" in capsys.readouterr().out
    for options in (["--rtol", "1e-6"], ["--ignore", "norm", "loss"]):
        cli.main(["compare", a, b, *options])


@pytest.mark.parametrize(
    "folder, options, error",
    [
        ("nowhere", [], "nowhere: there is no such folder"),
        ("a/logs", [], "a/logs: has no logs/**/*.parquet and no tables/*.parquet"),
        ("b", ["--rtol", "-1"], "--rtol: must be a finite number of at least 0, not -1"),
        ("b", ["--rtol", "nan"], "not nan"),
    ],
)
def test_what_cannot_be_compared_is_one_line(results, capsys, folder, options, error):
    with pytest.raises(SystemExit, match="1"):
        cli.main(["compare", str(results[0]), str(results[0].parent / folder), *options])
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
