"""Table ``delay_models``: laws of the time by weight decay, compared at decays that are left out.

Three laws: constant / decay; a free power of the decay; a time, such as that of memorising, plus
constant / decay. Each is fitted to all weight decays but one (log-normal, with censored runs), and
predicts the runs at this one. The score is the mean log-likelihood of a run, of the interval
between two logged steps in which it groks.
"""

from circlet.analysis import log_frames, stats
from circlet.collections.delays import survival
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate, names
from circlet.study.plan import Study

OPTIONAL_ROLES = ("mlp_decays", "gelu_decays", "transformer_decays")
TABLES = ("milestones",)
COLUMNS = [
    EXPERIMENT,
    column("system", "string", "the network"),
    column("time", "string", "grok: steps to grok; delay: steps from memorising to grokking"),
    column("p", "int32", "modulus"),
    column("learning_rate", "float64", "learning rate"),
    column("model", "string", "inverse: constant / decay; power; sum: a time + constant / decay"),
    *estimate("score", "mean log-likelihood of runs at a decay that is left out; n: seeds", "nat"),
    *estimate("gain", "score minus that of the free power; n: seeds", "nat"),
    *COUNTS,
]
_FEWEST = 4  # weight decays


def table(study: Study) -> Rows:
    """Yield a row per role, modulus, learning rate, time and law."""
    for row, runs in log_frames.groups(study, "milestones", names(COLUMNS), OPTIONAL_ROLES):
        for time in survival.TIMES:
            times = survival.usable(survival.ends(runs, time, "weight_decay"))
            if times.loc[times["by"].notna(), "x"].nunique() < _FEWEST:
                continue
            scores = {m: survival.left_out(m, times) for m in survival.MODELS}
            for model, score in scores.items():
                gain = score - scores["power"]
                over_seeds = [x.groupby(times["seed"]).mean() for x in (score, gain)]
                yield row | {
                    "time": time,
                    "model": model,
                    **stats.mean(over_seeds[0]).columns("score"),
                    **stats.mean(over_seeds[1]).columns("gain"),
                }
