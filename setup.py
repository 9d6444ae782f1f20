"""The kernels, once for each instruction set: a job takes the best that its processor supports."""

from pathlib import Path

from setuptools import Extension, setup

KERNELS = Path("src/circlet/native/kernels")
# Without -g0, Python's own flags would add debugging symbols, and a third to the time.
FLAGS = ("-std=c++17", "-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-faligned-new")
SETS = {"avx512": ("-mavx512f", "-mavx512dq", "-mfma"), "avx2": ("-mavx2", "-mfma"), "plain": ()}

setup(
    ext_modules=[
        Extension(
            name=f"circlet.native._{name}",
            # A source for each: objects of one source would have one name.
            sources=[str(KERNELS / f"{name}.cpp")],
            depends=[str(path) for path in KERNELS.glob("*.hpp")],
            language="c++",
            extra_compile_args=[*FLAGS, *flags],
            optional=True,  # what cannot be compiled is left out
        )
        for name, flags in SETS.items()
    ],
    options={"build_ext": {"parallel": True}},
)
