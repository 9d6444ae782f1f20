"""The tour's text on survivors."""

import pandas as pd

from circlet.collections.ding.explorer import data

PLAYED = pd.DataFrame(
    {
        "run_id": ["e/x/s00000"], "system": ["embedding_mlp"], "survivors": [[2, 5]], "frames": [9],
        "p": [13], "last_step": [100], "weight_decay": [0.5],
    }
)  # fmt: skip


def told(**columns):
    rows = {"weight_decay": 0.5, "step": [0, 10], "auc": [0.84, 0.961]} | columns
    (stop,) = data.tour({"forecast": pd.DataFrame(rows)}, PLAYED)
    return stop["text"]


def test_it_says_how_much_is_decided_early_if_that_was_forecast():
    assert told().endswith(
        "identifies the survivor 84 % of the time; a forecast from the signals up to step 10, "
        "96 % of the time."
    )
    others = (told(weight_decay=1), told(auc=[0.84, None]), data.tour({}, PLAYED)[0]["text"])
    for text in others:
        assert text.endswith(
            "(frequencies 2, 5). Their signals are coloured below; the others are grey."
        )


def test_it_is_of_a_run_without_interventions():
    columns = {"survivors": [[3]], "cut.without_rank": [1.0]}
    assert data.tour({}, PLAYED.assign(**columns)) == []
    both = pd.concat([PLAYED.assign(**columns, frames=99), PLAYED.assign(survivors=[[4]])])
    (stop,) = data.tour({}, both)
    said = "At the end one of them survives (frequency 4). Its signal is coloured below"
    assert said in stop["text"]
