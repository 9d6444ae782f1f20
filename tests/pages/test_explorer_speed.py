"""What the explorer shows while a slow connection still sends it."""

import functools
import http.server
import threading

import pandas as pd
import pytest

from circlet.pages import explorer
from circlet.pages.explorer import packing

pytestmark = pytest.mark.browser

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


def test_the_first_picture_and_curves_are_there_before_the_file(browser, finished):
    """The picture is there when its run has arrived, the curves when their library has."""
    content = (finished.folder / "results/smoke/explorer.html").read_bytes()
    picture, curves = (content.index(b'<script type="text/plain" id="%b"' % name)
                       for name in (b"plotly", b"parquet"))  # fmt: skip
    assert curves < len(content) / 2
    ends = [threading.Event() for _ in range(3)]
    pieces = content[:picture], content[picture:curves], content[curves:]
    handler = functools.partial(Slow, list(zip(pieces, ends, strict=True)))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"http://127.0.0.1:{server.server_port}", wait_until="commit")
        for seen, end in zip((PICTURE, CURVE), ends, strict=False):
            page.wait_for_selector(seen, state="attached")
            assert page.evaluate("document.readyState") == "loading"
            end.set()
        ends[-1].set()
        page.wait_for_function("document.readyState === 'complete'")
        page.close()
        server.shutdown()


def test_what_a_reader_looks_at_first_comes_first():
    """The first stop, other stops, a run of each point, ends of points without one, the rest."""
    shown = [["training", "training", "training", "end", "end", "outcome"], ["training"], ["end"]]
    points = [
        {
            "runs": [
                {"run_id": f"{place}/{seed}", "seed": seed, "shown": how}
                for seed, how in enumerate(own)
            ]
        }
        for place, own in enumerate(shown)
    ]
    states = pd.DataFrame({"run_id": [], "name": [], "values": [], "shape": [], "step": []})
    tour = [explorer.Stop(title="", run=run, step=0, text="") for run in ("0/2", "1/0", "0/2")]
    found = packing.chunks(points, states, tour)
    names = ["chunk-0-2", "chunk-1-0", "chunk-0-0", "chunk-0-1", "chunk-0", "chunk-2"]
    assert [chunk.name for chunk in found] == names
    assert [chunk.turn for chunk in found].count(packing.OPENING) == 1
