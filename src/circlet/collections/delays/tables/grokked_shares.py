"""Table ``grokked_shares``: share of runs that grok within their steps, at each setting."""

from circlet.analysis import log_frames, stats
from circlet.collections.delays import survival
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("p", "int32", "modulus"),
    column("learning_rate", "float64", "learning rate"),
    column("weight_decay", "float64", "weight decay"),
    *estimate("grokked", "share of runs that grok (Clopper and Pearson)", "0..1"),
    *estimate("median", "median step of grokking (Kaplan and Meier)", "steps"),
    *estimate("median_delay", "median delay after memorising (Kaplan and Meier)", "steps"),
    *COUNTS,
]


def table(study: Study) -> Rows:
    """Yield a row per role and setting."""
    for row, runs in log_frames.groups(study, "milestones", names(COLUMNS), OPTIONAL_ROLES):
        times = {name: survival.ends(runs, name, "weight_decay") for name in survival.TIMES}
        grok, delay = (stats.median_time(t["after"], t["by"]) for t in times.values())
        grokked = stats.counted(runs["generalised_step"].notna())
        yield row | {
            **stats.share(*grokked, method="exact").columns("grokked"),
            **grok.columns("median"),
            **delay.columns("median_delay"),
        }
