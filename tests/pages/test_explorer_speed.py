"""What the explorer shows while a slow line still sends it."""

import functools
import http.server
import threading

import pandas as pd
import pytest

from circlet.pages import explorer
from circlet.pages.explorer import packing

pytestmark = pytest.mark.browser

LINE = 10e6 / 8  # bytes a second
LARGEST = 16_000_000  # bytes: a page never has more

# When the first picture is drawn, in ms since the page was asked for, and how far its file is then.
WATCH = """
new MutationObserver((_, watcher) => {
  if (!document.querySelector("#panels .panel:not([hidden]) .picture svg path[d^=M]")) return;
  window.first = [performance.now(), document.readyState];
  watcher.disconnect();
}).observe(document, { childList: true, subtree: true, attributes: true });
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def served(tmp_path):
    """The address of a folder of files, as a server has them."""
    handler = functools.partial(Quiet, directory=tmp_path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def slow(browser):
    """A page on a line of 10 Mbit/s."""
    page = browser.new_page()
    page.set_default_timeout(120_000)
    devtools = page.context.new_cdp_session(page)
    limits = {"offline": False, "latency": 40, "downloadThroughput": LINE, "uploadThroughput": LINE}
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", limits)
    page.add_init_script(WATCH)
    yield page
    page.close()


def enlarged(content: bytes) -> bytes:
    """The page of a study as large as a page may be: with more runs, which come last."""
    head, end = content.rsplit(b"</body>", 1)
    more = b'<script type="text/plain">' + b"A" * (LARGEST - len(content)) + b"</script>"
    return head + more + b"</body>" + end


def test_the_first_picture_is_there_before_the_file(slow, served, finished, tmp_path):
    content = (finished.folder / "results/smoke/explorer.html").read_bytes()
    (tmp_path / "explorer.html").write_bytes(enlarged(content))
    slow.goto(f"{served}/explorer.html", wait_until="commit")
    slow.wait_for_function("window.first")
    slow.wait_for_selector("#losses-picture .js-plotly-plot .scatterlayer path")
    curves = slow.evaluate("performance.now()")
    first, state = slow.evaluate("window.first")
    slow.wait_for_function("document.readyState === 'complete'")
    whole = slow.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    print(f"picture {first / 1000:.1f} s, curves {curves / 1000:.1f} s, file {whole / 1000:.1f} s")
    assert state == "loading" and whole > 1000 * LARGEST / LINE  # the line is slow indeed
    assert curves < whole


def test_what_a_reader_looks_at_first_comes_first():
    """The first stop, the others, a run of each point, the ends that are all there is, the rest."""
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
