"""Table ``matched_particles``: final structures of networks and of particles with their forces.

The strengths of the particles are copied into the config from ``force_coefficients``. Every point
of the particles is compared with every point of the networks with the same p and d.
"""

from circlet.analysis import contrasts, log_frames, stats
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("network_forces", "matched_particles")
TABLES = ("structures",)
COLUMNS = [
    column("d", "int32", "dimension of both"),
    column("weight_decay", "float64", "of the networks"),
    *(column(name, "float64", "of the particles") for name in ("f_a", "g_a", "g_r")),
    *estimate("network_circles", "share of networks that end as a circle", "0..1"),
    *estimate("circles_difference", "particles minus networks"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """A row per point of the networks and of the particles."""
    frame = parquet.read_table(study, "structures").astype({"is_circle": bool})
    by_role: dict[str, list] = {role: [] for role in ROLES}
    for point, _, runs in log_frames.by_point(frame, study):
        for role in ROLES:
            if study.reproduce[role] == point.experiment:
                by_role[role].append((point, runs))
    for network, of_networks in by_role["network_forces"]:
        for particles, of_particles in by_role["matched_particles"]:
            if any(network.parameters[key] != particles.parameters[key] for key in ("p", "d")):
                continue
            counts = [stats.counted(runs["is_circle"]) for runs in (of_particles, of_networks)]
            estimates = {
                "network_circles": stats.share(*counts[1]),
                "circles_difference": contrasts.share_difference(*counts[0], *counts[1]),
            }
            yield {
                "d": network.parameters["d"],
                "weight_decay": network.parameters["weight_decay"],
                **{name: particles.parameters[name] for name in ("f_a", "g_a", "g_r")},
                **stats.columns(estimates),
                "n_runs": len(of_networks) + len(of_particles),
                "n_planned": network.count + particles.count,
            }
