"""What the explorer shows while a slow connection still sends it."""

import functools
import http.server
import itertools
import threading

import pandas as pd
import pytest
from driving import settled

from circlet.pages import explorer
from circlet.pages.explorer import packing

PICTURE = "#panels .panel:not([hidden]) .picture svg path[d^=M]"
CURVE = "#losses-picture .js-plotly-plot .scatterlayer path"


class Slow(http.server.BaseHTTPRequestHandler):
    """Server that sends the parts of a file, each when its event is set."""

    def __init__(self, parts, *arguments):
        self.parts = parts
        super().__init__(*arguments)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        for content, may_go_on in self.parts if self.path == "/" else []:
            self.wfile.write(content)
            assert may_go_on.wait(timeout=600)

    def log_message(self, *arguments):
        pass


@pytest.mark.browser
def test_what_has_arrived_is_shown_and_what_is_chosen_is_waited_for(browser, finished):
    """The picture is there when its run has arrived, the curves when their library has."""
    content = (finished.folder / "results/smoke/explorer.html").read_bytes()
    places = [0]
    for mark in (b"plotly", b"chunk-"):
        places.append(content.index(b'<script type="text/plain" id="%b' % mark, places[-1]))
    assert places[-1] < len(content) / 2
    cuts = itertools.pairwise([*places, len(content)])
    parts = [(content[slice(*cut)], threading.Event()) for cut in cuts]
    ends = [end for _, end in parts]
    handler = functools.partial(Slow, parts)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{server.server_port}", wait_until="commit")
        try:
            page.wait_for_selector(PICTURE, state="attached")
            assert page.evaluate("document.readyState") == "loading"
            ends[0].set()
            page.wait_for_selector(CURVE, state="attached")
            page.click("#run-list tr.training:has(input:not(:checked))")
            page.wait_for_function("document.getElementById('waiting').textContent")
            assert page.evaluate("document.readyState") == "loading"
            ends[1].set()
            page.wait_for_function("!document.getElementById('waiting').textContent")
            settled(page)
            assert f"run={page.input_value('#run-list input:checked')}&" in page.url
        finally:
            for end in ends:
                end.set()
            page.close()
            server.shutdown()


def test_what_a_reader_looks_at_first_comes_first():
    """The first stop, other stops, a run of each point, ends of points without one, the rest."""
    shown = [["training", "training", "training", "end", "end", "outcome"], ["training"], ["end"]]
    points = [
        {
            "runs": [
                {"run_id": f"{place}/{seed}", "seed": seed, "shown": how}
                for seed, how in enumerate(kinds)
            ]
        }
        for place, kinds in enumerate(shown)
    ]
    states = pd.DataFrame({"run_id": [], "name": [], "values": [], "shape": [], "step": []})
    tour = [explorer.Stop(title="", run=run, step=0, text="") for run in ("0/2", "1/0", "0/2")]
    chunks = packing.chunks(points, states, tour)
    names = ["chunk-0-2", "chunk-1-0", "chunk-0-0", "chunk-0-1", "chunk-0", "chunk-2"]
    assert [chunk.name for chunk in chunks] == names
    assert [chunk.rank for chunk in chunks].count(packing.OPENING) == 1
