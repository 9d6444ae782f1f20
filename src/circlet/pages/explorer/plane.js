// The plane in which embeddings are seen: what there is to choose from, and what is chosen.
import { COMPONENTS } from "circlet/address";
import { byId, options } from "circlet/controls";
import { NUMBERED } from "circlet/panels";

/** Whether a panel is a chart, over which a line moves, and not a picture of every step. */
export const isChart = ({ source }) => !source;

/** Whether each step usually has its own scale. */
export const fits = (panels) => panels.some((panel) => panel.fits);

const count = (length, entry) => Array.from({ length }, (_, i) => entry(i));

/** Offer the planes of a scene; unless the reader has chosen, take the one that shows most. */
export function offerPlanes(scene, panels) {
  const { d, frequencies, p, strongest, view } = scene;
  const moving = panels.filter((panel) => !isChart(panel));
  const components = frequencies || d < 3 ? [] : scene.components; // which take a moment
  if (view.plane === COMPONENTS && components.length < 2) view.chosen = false;
  const width = view.plane === COMPONENTS ? components.length : d;
  const valid = view.plane <= frequencies && view.x < width && view.y < Math.max(width, 2);
  if (!view.chosen || !valid) {
    // Components are those of the embedding: not what other pictures in the plane show best.
    const most = components.length > 1 && moving.length < 2 ? COMPONENTS : strongest;
    Object.assign(view, { plane: d > 2 ? most : 0, x: 0, y: 1, chosen: false });
  }
  if (!view.fitted) view.fit = fits(panels);
  byId("fit").checked = view.fit;
  view.lines = view.wanted || (view.plane ? "neighbours" : "successive");
  if (view.lines === "neighbours" && !scene.neighbour) view.lines = "successive";
  options(
    "plane",
    [
      ...(components.length > 1 ? [[COMPONENTS, "principal components"]] : []),
      [0, "dimensions"],
      ...count(frequencies, (i) => [i + 1, `frequency ${i + 1}`]),
    ],
    view.plane,
  );
  const axes = count(view.plane === COMPONENTS ? components.length : d, (i) => [i, `${i + 1}`]);
  options("x", axes, view.x);
  options("y", axes, view.y);
  // Where it says something: else a is joined to a + 1.
  byId("lines").querySelector("[value=neighbours]").disabled = !scene.neighbour;
  byId("lines").value = view.lines;
  const hide = (id, hidden) => (byId(id).closest("label").hidden = hidden);
  hide("plane", frequencies === 0 && components.length < 2);
  hide("x", view.plane > 0 || !moving.length);
  hide("y", view.plane > 0 || d < 2 || !moving.length);
  hide("fit", !moving.length);
  hide("lines", frequencies === 0);
  hide("numbers", p > NUMBERED || !panels.some((panel) => panel.numbered));
  scene.see();
}

/** Change what is seen by what a reader chooses: `changed` is called with the changes of the view. */
export function onPlane(changed) {
  byId("plane").addEventListener("change", ({ target }) =>
    changed({ plane: Number(target.value), x: 0, y: 1 }),
  );
  for (const id of ["x", "y"]) {
    byId(id).addEventListener("change", ({ target }) => changed({ [id]: Number(target.value) }));
  }
}
