// The plane in which embeddings are seen: what there is to choose from, and what is chosen.
import { COMPONENTS } from "circlet/address";
import { byId, options } from "circlet/controls";
import { NUMBERED } from "circlet/panels";

/** Whether a panel is a chart, over which a line moves, and not a picture of every step. */
export const isChart = ({ source }) => !source;

/** Whether each step usually has its own scale. */
export const fits = (panels) => panels.some((panel) => panel.fits);

const count = (length, entry) => Array.from({ length }, (_, i) => entry(i));

/** The plane that shows most of a scene: a frequency, or components, or the first two dimensions. */
export function usualPlane(scene, panels) {
  const { d, frequencies, strongest } = scene;
  if (d <= 2) return { plane: 0, x: 0, y: 1 };
  const moving = panels.filter((panel) => !isChart(panel));
  // Components are those of the embedding: not what other pictures in the plane show best.
  const isAlone = !frequencies && moving.length < 2 && scene.components.length > 1;
  return { plane: isAlone ? COMPONENTS : strongest, x: 0, y: 1 };
}

/** Offer the planes of a scene; unless the reader has chosen, take the one that shows most. */
export function offerPlanes(scene, panels) {
  const { d, frequencies, p, view } = scene;
  const moving = panels.filter((panel) => !isChart(panel));
  const components = frequencies || d < 3 ? [] : scene.components; // which take a moment
  if (view.plane === COMPONENTS && components.length < 2) view.chosen = false;
  const width = view.plane === COMPONENTS ? components.length : d;
  const valid = view.plane <= frequencies && view.x < width && view.y < Math.max(width, 2);
  if (!view.chosen || !valid) {
    Object.assign(view, usualPlane(scene, panels), { chosen: false });
  }
  if (!view.fitted) view.fit = fits(panels);
  byId("fit").checked = view.fit;
  view.lines = view.wanted || (view.plane ? "neighbours" : "shortest");
  if (view.lines === "neighbours" && !scene.neighbour) view.lines = "shortest";
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
