import { unpackText } from "circlet/catalogue";
import { byId } from "circlet/controls";
import { explore } from "circlet/explore";
import { train } from "circlet/live_network";
import { simulate } from "circlet/live_particles";

const text = (id) => unpackText(byId(id).textContent);

function say(words) {
  byId("problem").textContent = words;
  byId("problem").hidden = !words;
}

/** The plotting library, which leaves its name on the window. */
async function load() {
  const script = document.createElement("script");
  script.textContent = await text("plotly");
  document.head.append(script);
  return window.Plotly;
}

// Within the page, without a place of their own to come back to: those are runs.
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    byId(link.hash.slice(1)).focus();
  });
}

try {
  const catalogue = JSON.parse(await text("catalogue"));
  simulate(catalogue.particles);
  train(catalogue.network);
  if (catalogue.points.some((point) => point.runs.length)) {
    byId("explore").hidden = false;
    await explore(catalogue, await load(), say);
  } else byId("no-runs").hidden = false;
  document.documentElement.dataset.ready = "yes"; // for those who drive the page
} catch (error) {
  say(`This page could not be set up: ${error.message}. It needs a browser of 2023 or later.`);
  throw error;
}
