# circlet with all it needs, for machines without Python, or clusters with Apptainer. The clone is
# mounted over the copy in the image, so that edits count, and results and Snakemake's records stay:
#   docker build -t circlet . && docker run --rm -v "$PWD:/circlet" circlet
#   apptainer build circlet.sif docker-daemon:circlet:latest
#   apptainer exec --bind "$PWD:/circlet" --pwd /circlet circlet.sif snakemake --profile profiles/local
# Without a GPU, PIP_EXTRA_INDEX_URL may name an index with PyTorch's CPU build of the pinned version,
# which is gigabytes smaller: --build-arg PIP_EXTRA_INDEX_URL=...
FROM python:3.12-slim

ARG PIP_EXTRA_INDEX_URL
# g++: the native kernels. git: footers of logs say which commit made them.
RUN apt-get update \
    && apt-get install --no-install-recommends --yes g++ git make \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /circlet
# Dependencies first, so that an edit of the code does not install them again.
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY src/circlet/__init__.py src/circlet/__init__.py
COPY src/circlet/native/kernels src/circlet/native/kernels
RUN pip install --no-cache-dir --constraint constraints.txt --editable '.[slurm,storage]'
COPY . .
RUN git config --system --add safe.directory /circlet

CMD ["snakemake", "--profile", "profiles/local"]
