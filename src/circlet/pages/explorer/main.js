import { arrived, unpack } from "circlet/catalogue";
import { byId, element } from "circlet/controls";
import { explore } from "circlet/explore";
import { panels } from "circlet/panels";

const text = async (id) => unpack(await arrived(id)).text();

function say(words) {
  byId("problem").textContent = words;
  byId("problem").hidden = !words;
}

/** Let a collection add its panels, and set up what of it is live in the page. */
async function add({ name, prefix, data }) {
  const collection = await import(`circlet/${name}/main`);
  for (const [panel, made] of Object.entries(collection.panels ?? {})) {
    panels[prefix + panel] = { ...made, data: data ?? {} };
  }
  if (data) collection.live?.(data);
}

/** The plotting library, which leaves its name on the window. */
async function load() {
  document.head.append(element("script", { textContent: await text("plotly") }));
  return /** @type {any} */ (window).Plotly;
}

for (const section of document.querySelectorAll("section[id^=live]")) {
  const { textContent } = section.querySelector("h2");
  const link = element("a", { href: `#${section.id}`, textContent });
  byId("links").append(" ", link, ".");
}

// Within the page, without a place of their own to come back to: those are runs.
for (const link of document.querySelectorAll("a[href^='#']")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const target = byId(link.getAttribute("href").slice(1));
    target.focus({ preventScroll: true }); // which would centre a tall section
    target.scrollIntoView();
  });
}

try {
  const catalogue = JSON.parse(await text("catalogue"));
  for (const collection of catalogue.collections) await add(collection);
  const isEmpty = !catalogue.points.some((point) => point.runs.length);
  byId("explore").hidden = isEmpty;
  byId("no-runs").hidden = !isEmpty;
  if (!isEmpty) await explore(catalogue, panels, load(), say);
  document.documentElement.dataset.ready = "yes"; // for those who drive the page
} catch (error) {
  say(`This page could not be set up: ${error.message}. It needs a browser of 2023 or later.`);
  throw error;
}
