// The address of what is seen, `#run=...&step=...`, so that it can be sent to somebody.

export const CHECKS = ["fit", "log"];
export const COMPONENTS = -1; // the plane of principal components

const whole = (text, otherwise) => (/^[1-9]\d*$/.test(text ?? "") ? Number(text) : otherwise);

/** What an address names; `step` and the runs may be missing. @returns {Link} */
export function parse(/** @type {string} */ address) {
  const parts = new URLSearchParams(address.slice(1));
  const [x, y] = (parts.get("components") ?? parts.get("dimensions") ?? "").split(",");
  const step = parts.get("step") ?? "";
  return {
    runId: parts.get("run"),
    beside: parts.get("beside"),
    step: /^\d+$/.test(step) ? Number(step) : undefined,
    view: {
      plane: parts.has("components") ? COMPONENTS : whole(parts.get("frequency"), 0),
      x: whole(x, 1) - 1,
      y: whole(y, 2) - 1,
      chosen: ["frequency", "dimensions", "components"].some((name) => parts.has(name)),
      fit: parts.get("fit") === "1",
      fitted: parts.has("fit"),
      log: parts.get("log") === "1",
    },
  };
}

/** The address of a view; `fit` is whether each step usually has its own scale. */
export function format(/** @type {Link} */ { runId, beside, step, view }, fit) {
  const parts = new URLSearchParams({ run: runId, step: `${step}` });
  if (beside) parts.set("beside", beside);
  const axes = view.plane === COMPONENTS ? "components" : "dimensions";
  if (view.chosen && view.plane > 0) parts.set("frequency", `${view.plane}`);
  if (view.chosen && view.plane <= 0) parts.set(axes, `${view.x + 1},${view.y + 1}`);
  const usual = { fit, log: false };
  for (const id of CHECKS) if (view[id] !== usual[id]) parts.set(id, `${Number(view[id])}`);
  return `#${parts}`.replace(/%(2F|2C|3D)/g, decodeURIComponent);
}
