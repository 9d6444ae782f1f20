// The panels that show a run: making them, and drawing them at a step.
import { byId } from "circlet/controls";
import { isChart } from "circlet/plane";

/** Another title of a panel, which its buttons say, too. */
function entitle(panel, words) {
  const title = panel.querySelector("b");
  for (const button of panel.querySelectorAll("button")) {
    button.ariaLabel = button.ariaLabel.replace(title.textContent, words);
  }
  title.textContent = words;
}

const NONE = { make: () => ({ missing: () => "There is no panel of this name." }) };

export class Board {
  /**
   * Panels by name, made by `makers` with a plotting library, what goes to a step, and what lights a
   * pair of numbers up. `kept` is whether it shows the run that is kept beside another.
   */
  constructor(names, makers, { plotly, goTo, light, kept = false }) {
    Object.assign(this, { kept, shown: [], panels: {} });
    const suffix = kept ? "-kept" : "";
    for (const name of names) {
      const { title, make, data, help } = { title: name, ...NONE, ...makers[name] };
      const id = name.replace(".", "-") + suffix;
      const words = kept ? `${title}, kept run` : title;
      const html = byId("panel").innerHTML.replaceAll("$id", id).replaceAll("$title", words);
      byId("panels").insertAdjacentHTML("beforeend", html);
      const figure = byId(id);
      figure.hidden = true;
      figure.classList.toggle("kept", kept);
      const more = figure.querySelector(".help");
      if (help) more.querySelector("p").textContent = help;
      else more.remove();
      this.panels[name] = { id, ...make(byId(`${id}-picture`), { plotly, goTo, light, data }) };
    }
  }

  get choices() {
    return Object.assign({}, ...Object.values(this.panels).map((panel) => panel.choices));
  }

  /** Put a select for each choice into the caption of its panel; `changed` is called with both. */
  offerChoices(changed) {
    for (const { id, choices } of Object.values(this.panels)) {
      for (const [choice, values] of Object.entries(choices ?? {})) {
        const select = document.createElement("select");
        Object.assign(select, { id: choice, ariaLabel: choice });
        select.append(...Object.entries(values).map(([value, words]) => new Option(words, value)));
        select.addEventListener("change", () => changed(choice, select.value));
        byId(id).querySelector(".save").before(select);
      }
    }
  }

  /** Show the panels of a system, in its order; of none, no panels. */
  use(system) {
    this.shown = (system?.panels ?? []).map((name) => this.panels[name]);
    for (const { id } of Object.values(this.panels)) byId(id).hidden = true;
    for (const { id, title } of this.shown) {
      byId(id).hidden = false;
      byId("panels").append(byId(id));
      if (title) entitle(byId(id), title(system) + (this.kept ? ", kept run" : ""));
    }
  }

  isShown(panel) {
    return this.shown.includes(panel) && !byId(`${panel.id}-picture`).hidden;
  }

  /** Panels that have data. */
  get drawn() {
    return this.shown.filter((panel) => this.isShown(panel));
  }

  /** Take a scene; panels without data say why, or go. Whether any has some. */
  arrange(scene) {
    this.scene = scene;
    for (const panel of this.shown) {
      const { id } = panel;
      const why = panel.missing(scene);
      byId(id).hidden = why === null;
      byId(`${id}-missing`).textContent = why ?? "";
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

  drawMoving(step, atRest) {
    const { scene } = this;
    for (const panel of this.drawn) {
      if (isChart(panel)) continue;
      panel.draw(scene, step, atRest);
      panel.light?.(scene, step, this.pair);
      const logged = scene.logged(panel.source, step);
      const older = logged === step ? "" : `as logged at step ${logged}`;
      const isFinite = scene.isFinite(panel.source, step);
      const words = [
        older,
        isFinite ? panel.note?.(scene, step) : "not all values are finite here",
      ];
      byId(`${panel.id}-note`).textContent = words.filter(Boolean).join("; ");
    }
  }

  /** Light a pair of numbers up in all panels that show it; none: put it out. */
  light(pair, step) {
    this.pair = pair;
    for (const panel of this.drawn) panel.light?.(this.scene, step, pair);
  }

  /** Move the lines over the charts. */
  cursor(step) {
    for (const { picture } of this.shown.filter(isChart)) picture?.cursor(step);
  }

  get queues() {
    return this.shown.map(({ picture }) => picture?.queue);
  }

  /** A panel at a step as a file; none if it is not one of its own. */
  fileOf(id, step) {
    const { scene, shown } = this;
    const panel = shown.find((other) => other.id === id);
    if (!panel) return undefined;
    const moment = panel.source
      ? `_step_${scene.logged(panel.source, step)}_${scene.planeName}`
      : "";
    return {
      name: `${scene.run.run_id.replaceAll("/", "_")}${moment}_${id}`,
      picture: panel.picture,
      draw: () => panel.draw(scene, step, true),
      redraw: (now) => this.isShown(panel) && panel.draw(this.scene, now, true),
      table: () => panel.table(scene, step),
      digits: 6,
    };
  }
}
