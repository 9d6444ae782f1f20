"""The tour's text on survivors."""

import pandas as pd

from circlet.collections.ding.explorer import data

PLAYED = pd.DataFrame(
    {
        "run_id": ["e/x/s00000"], "system": ["embedding_mlp"], "survivors": [[2, 5]], "frames": [9],
        "p": [13], "d": [8], "last_step": [100],
    }
)  # fmt: skip


def test_it_is_of_a_run_without_interventions():
    columns = {"survivors": [[3]], "cut.without_rank": [1.0]}
    assert data.tour({}, PLAYED.assign(**columns)) == []
    both = pd.concat([PLAYED.assign(**columns, frames=99), PLAYED.assign(survivors=[[4]])])
    (stop,) = data.tour({}, both)
    said = "At the end one of them survives (frequency 4). Its signal is coloured;"
    assert said in stop["text"]
