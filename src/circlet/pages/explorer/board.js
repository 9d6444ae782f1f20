// The panels that show a run: making them, and drawing them at a step.
import { byId } from "circlet/controls";
import { absent } from "circlet/panels";
import { isChart } from "circlet/plane";

/** @type {{ make: MakePanel }} */
const NONE = { make: () => ({ missing: () => "There is no panel of this name." }) };

export class Board {
  /**
   * Panels by name, made by `makers` with some tools. `what` it shows: the run that is looked at, the
   * one that is kept beside it, or the stop of the tour.
   * @param {"run" | "kept" | "tour"} what
   */
  constructor(names, makers, tools, what) {
    this.what = what;
    this.place = byId(what === "tour" ? "tour-panels" : "panels");
    /** @type {Record<string, Panel>} */
    this.panels = {};
    /** @type {Panel[]} */
    this.shown = [];
    /** @type {Scene} */
    this.scene = undefined;
    this.pair = undefined;
    for (const name of names) {
      this.panels[name] = this.made(name, { title: name, ...NONE, ...makers[name] }, tools);
    }
  }

  made(name, /** @type {PanelMaker} */ { title, make, data, help }, tools) {
    const id = name.replace(".", "-") + (this.what === "run" ? "" : `-${this.what}`);
    const html = byId("panel").innerHTML.replaceAll("$id", id);
    const words = this.what === "kept" ? `${title}, kept run` : title;
    this.place.insertAdjacentHTML("beforeend", html.replaceAll("$title", words));
    const figure = byId(id);
    figure.hidden = true;
    figure.classList.toggle("kept", this.what === "kept");
    if (this.what === "tour") figure.querySelector(".save").remove();
    const more = figure.querySelector(".help");
    if (help) more.querySelector("p").textContent = help;
    else more.remove();
    return { id, ...make(byId(`${id}-picture`), { ...tools, data }) };
  }

  /** Show the panels of a system, or only some, in this order; of none, no panels. */
  use(/** @type {System} */ system, names = system?.panels ?? []) {
    for (const { id } of Object.values(this.panels)) byId(id).hidden = true;
    this.shown = names.map((name) => this.panels[name]);
    for (const { id } of this.shown) this.place.append(byId(id));
  }

  /** Panels that have data. */
  get drawn() {
    return this.shown.filter(({ id }) => this.scene && !byId(`${id}-picture`).hidden);
  }

  /** Take a scene; panels without data say why. Whether any has some. */
  arrange(/** @type {Scene} */ scene) {
    this.scene = scene;
    for (const panel of this.shown) {
      const { id, source } = panel;
      const why = panel.missing?.(scene) ?? (scene.arrays[source] ? "" : absent(scene));
      byId(id).hidden = false;
      byId(`${id}-missing`).textContent = why;
      byId(`${id}-note`).textContent = "";
      byId(`${id}-picture`).hidden = why !== "";
      for (const button of byId(id).querySelectorAll("button")) button.disabled = why !== "";
    }
    return this.drawn.length > 0;
  }

  drawCharts() {
    for (const panel of this.drawn.filter(isChart)) {
      byId(`${panel.id}-note`).textContent = panel.note?.(this.scene) ?? "";
      panel.draw(this.scene);
    }
  }

  /** Draw what moves, and move the lines over the charts. */
  drawMoving(step, atRest) {
    const { scene } = this;
    for (const panel of this.drawn) {
      if (isChart(panel)) continue;
      panel.draw(scene, step, atRest);
      panel.light?.(scene, step, this.pair);
      byId(`${panel.id}-note`).textContent = this.note(panel, step);
    }
    for (const { picture } of this.shown.filter(isChart)) picture?.cursor?.(step);
  }

  /** What is said of a panel at a step. */
  note(/** @type {Panel} */ panel, step) {
    const { scene } = this;
    const logged = scene.logged(panel.source, step);
    const isFinite = scene.arrays[panel.source].at(step).every(Number.isFinite);
    const words = isFinite ? panel.note?.(scene, step) : "some values are not finite";
    return [logged !== step && `as logged at step ${logged}`, words].filter(Boolean).join("; ");
  }

  /** Light a pair of numbers up in all panels that show it; none: put it out. */
  light(pair, step) {
    this.pair = pair;
    for (const panel of this.drawn) panel.light?.(this.scene, step, pair);
  }

  get queues() {
    return this.shown.map(({ picture }) => picture?.queue);
  }

  /** A panel at a step as a file; none if it is not one of its own. @returns {PanelFile} */
  fileOf(id, step) {
    const { scene, shown } = this;
    const panel = shown.find((other) => other.id === id);
    if (!panel) return undefined;
    const { source } = panel;
    const moment = source ? `_step_${scene.logged(source, step)}_${scene.planeName}` : "";
    return {
      name: `${scene.run.run_id.replaceAll("/", "_")}${moment}_${id}`,
      picture: panel.picture,
      draw: () => panel.draw(scene, step, true),
      redraw: (now) => this.drawn.includes(panel) && panel.draw(this.scene, now, true),
      table: () => panel.table(scene, step),
      digits: 6,
    };
  }
}
