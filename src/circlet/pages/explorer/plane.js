// The plane in which embeddings are seen: what there is to choose from, and what is chosen.
import { COMPONENTS } from "circlet/address";
import { byId, options } from "circlet/controls";
import { range } from "circlet/numbers";

/** Whether a panel is a chart, over which a line moves, and not a picture of every step. */
export const isChart = (/** @type {Panel} */ { source }) => !source;

/** Whether each step usually has its own scale. */
export const fits = (panels) => panels.some((panel) => panel.fits);

/** The plane that shows most of a scene: a frequency, or components, or the first two dimensions. */
export function usualPlane(scene, panels) {
  const { d, frequencies, strongest } = scene;
  if (d <= 2) return { plane: 0, x: 0, y: 1 };
  const moving = panels.filter((panel) => !isChart(panel));
  // Components are those of the embedding: not what other pictures in the plane show best.
  const isAlone = !frequencies && moving.length < 2 && scene.components.length > 1;
  return { plane: isAlone ? COMPONENTS : strongest, x: 0, y: 1 };
}

/** Whether there is the plane of a view, of so many components. */
function isThere({ plane, x, y }, { d, frequencies }, components) {
  if (plane === COMPONENTS) return components > 1 && Math.max(x, y) < components;
  return plane <= frequencies && x < d && y < Math.max(d, 2);
}

/** See a scene in a plane that it has: the one that the reader has chosen, or the usual one. */
function settle(/** @type {Scene} */ scene, panels, components) {
  const { view } = scene;
  if (!view.chosen || !isThere(view, scene, components.length)) {
    Object.assign(view, usualPlane(scene, panels), { chosen: false });
  }
  if (!view.fitted) view.fit = fits(panels);
  scene.see();
}

/** Offer the planes of a scene; unless the reader has chosen, take the one that shows most. */
export function offerPlanes(/** @type {Scene} */ scene, panels) {
  const { d, frequencies, view } = scene;
  const components = frequencies || d < 3 ? [] : scene.components; // which take a moment
  settle(scene, panels, components);
  const main = components.length > 1 ? [[COMPONENTS, "principal components"]] : [];
  const planes = range(frequencies, (i) => [i + 1, `frequency ${i + 1}`]);
  options("plane", [...main, [0, "dimensions"], ...planes], view.plane);
  const width = view.plane === COMPONENTS ? components.length : d;
  const axes = range(width, (i) => [i, `${i + 1}`]);
  for (const id of ["x", "y"]) options(id, axes, view[id]);
  byId("fit").checked = view.fit;
  const moves = panels.some((panel) => !isChart(panel));
  const hide = (id, isHidden) => (byId(id).closest("label").hidden = isHidden);
  hide("plane", frequencies === 0 && !main.length);
  hide("x", view.plane > 0 || !moves);
  hide("y", view.plane > 0 || d < 2 || !moves);
  hide("fit", !moves);
}
