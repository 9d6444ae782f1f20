// The address of what is seen, `#run=...&step=...`, so that it can be sent to somebody.

export const CHECKS = ["numbers", "fit", "log"];
export const COMPONENTS = -1; // the plane of principal components
const LINES = ["shortest", "successive", "neighbours", "none"];

const whole = (text, otherwise) => (/^[1-9]\d*$/.test(text ?? "") ? Number(text) : otherwise);

/**
 * What an address names: `runId` and `beside`, the run that is kept beside it, null for none, `step` and `view`, as it is where nothing is said.
 * `choices` are those of panels: values by name, of which the first is usual.
 *
 * A view is how embeddings are seen: `plane`, a frequency, or 0 for the dimensions `x` and `y`, or
 * COMPONENTS for the principal components `x` and `y`;
 * `chosen`, whether the reader has chosen that; `wanted`, the lines that the reader has chosen;
 * what is chosen in panels; `numbers`, classes are written; `fit`, each step has its own scale,
 * and `fitted`, whether the reader has chosen that; `log`, steps are logarithmic.
 */
export function parse(address, choices) {
  const parts = new URLSearchParams(address.slice(1));
  const [x, y] = (parts.get("components") ?? parts.get("dimensions") ?? "").split(",");
  const checked = (id, usual) => (parts.has(id) ? parts.get(id) === "1" : usual);
  const view = {
    plane: parts.has("components") ? COMPONENTS : whole(parts.get("frequency"), 0),
    x: whole(x, 1) - 1,
    y: whole(y, 2) - 1,
    chosen: ["frequency", "dimensions", "components"].some((name) => parts.has(name)),
    wanted: LINES.find((name) => name === parts.get("lines")) ?? "",
    numbers: checked("numbers", true),
    fit: checked("fit", false),
    fitted: parts.has("fit"),
    log: checked("log", false),
  };
  for (const [name, values] of Object.entries(choices)) {
    const known = Object.keys(values);
    view[name] = known.find((value) => value === parts.get(name)) ?? known[0];
  }
  const step = parts.get("step") ?? "";
  return {
    runId: parts.get("run"),
    beside: parts.get("beside"),
    step: /^\d+$/.test(step) ? Number(step) : undefined,
    view,
  };
}

/**
 * The address of a run's step and a view, and of the run kept beside it, if there is one; `fit` is
 * whether each step usually has its own scale.
 */
export function format(runId, kept, step, view, fit, choices) {
  const parts = new URLSearchParams({ run: runId, step });
  if (kept) parts.set("beside", kept);
  const axes = view.plane === COMPONENTS ? "components" : "dimensions";
  if (view.chosen && view.plane > 0) parts.set("frequency", view.plane);
  if (view.chosen && view.plane <= 0) parts.set(axes, `${view.x + 1},${view.y + 1}`);
  if (view.wanted) parts.set("lines", view.wanted);
  for (const [name, values] of Object.entries(choices)) {
    if (view[name] !== Object.keys(values)[0]) parts.set(name, view[name]);
  }
  const usual = { numbers: true, fit, log: false };
  for (const id of CHECKS) if (view[id] !== usual[id]) parts.set(id, Number(view[id]));
  return `#${parts}`.replace(/%(2F|2C|3D)/g, decodeURIComponent);
}
