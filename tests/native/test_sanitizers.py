"""The kernels run under the address and undefined-behaviour sanitizers."""

import os
import platform
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

from circlet import native

GXX = shutil.which("g++")
KERNELS = ROOT / "src/circlet/native/kernels"
FLAGS = ["-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-fno-sanitize-recover=all",
         "-fsanitize=address,undefined"]  # fmt: skip
OF_KIND = {"avx512": ["-mavx512f", "-mavx512dq", "-mfma"], "avx2": ["-mavx2", "-mfma"], "plain": []}

# Odd sizes test padding, last tiles and single rows.
RUN = """
import sys
from pathlib import Path
import numpy as np
from circlet import native
native.path_of = lambda kind: Path(sys.argv[1])
from circlet.study import declared_systems, registry
from circlet.study.seeds import Seeds
from circlet.training import native_run

CASES = [
    ("constant_attention", {"p": 3, "d": 1, "hidden": 1}),
    ("constant_attention", {"p": 31, "d": 5, "hidden": 13}),
    ("constant_attention", {"p": 67, "d": 2, "hidden": 3}),  # too many numbers to count
    ("embedding_mlp", {"p": 5, "d": 3, "hidden": 7, "activation": "relu"}),
    ("embedding_mlp", {"p": 19, "d": 9, "hidden": 17, "residual": "cancelling"}),
    ("sparse_transformer", {"n_train": 1, "n_test": 1, "batch_size": 1, "length": 1, "k": 1}),
    ("sparse_transformer", {"p": 5, "vocabulary": 9, "d": 3, "n_train": 301, "n_test": 129,
                            "batch_size": 150, "dropout": 0.3, "bias": False}),
    ("sparse_transformer", {"p": 256, "vocabulary": 256, "length": 9, "n_train": 50,
                            "batch_size": 7}),
    ("particles", {"p": 3, "d": 1}),
    ("particles", {"p": 11, "d": 4}),
]
systems = declared_systems.Systems(registry.SHIPPED)
for name, own in CASES:
    for dtype in ("float32", "float64"):
        spec = systems[name]
        parameters, seeds = spec.defaults | own, Seeds(0, 0, 0, 0)
        starts = native.starts(spec.equations)
        start = starts.initial(parameters, seeds)
        run = native.Run(starts.kernel(parameters, seeds), start, parameters, {}, dtype)
        run.train(0, 7, native_run.Batches(parameters, seeds).of(1, 7))
        if spec.is_trained:
            run.gradient(), run.metrics()
        assert np.isfinite(run.values).all(), name
        run.close()
print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not GXX, reason="there is no g++")
@pytest.mark.parametrize("kind", OF_KIND)
def test_kernels_touch_no_memory_of_others(tmp_path, kind):
    if native.KINDS[kind] > native.library().widest():
        pytest.skip(f"this processor has no {kind}")
    source, library = KERNELS / f"{kind}.cpp", tmp_path / "kernels.so"
    subprocess.run([GXX, *FLAGS, *OF_KIND[kind], source, "-o", library], check=True)
    preload = subprocess.run(
        [GXX, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
    ).stdout.strip()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"), "LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0",
    }  # fmt: skip
    command = [sys.executable, "-c", RUN, library]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "done", done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_kernels_compile_without_warnings(compiler):
    """With clang, too, which macOS has."""
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    for kind in OF_KIND if platform.machine() == "x86_64" else ["plain"]:
        checks = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *OF_KIND[kind]]
        subprocess.run([compiler, *checks, KERNELS / f"{kind}.cpp"], check=True)
