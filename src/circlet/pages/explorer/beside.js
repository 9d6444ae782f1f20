// A run that is kept beside the one that is looked at, on the same step slider.
import { byId } from "circlet/controls";
import { usualPlane } from "circlet/plane";
import { Scene } from "circlet/scene";

export class Kept {
  /** The boards of the run that is looked at, and of the one that is kept. */
  constructor(other, board) {
    Object.assign(this, { other, board });
  }

  get run() {
    return this.board.scene?.run;
  }

  /** Keep a run: a point, its run, system and arrays; seen as the other. `words` say which it is. */
  keep(point, run, system, arrays, view, words) {
    const scene = new Scene(point, run, system, arrays, { ...view });
    this.board.use(system);
    Object.assign(scene.view, usualPlane(scene, this.board.shown));
    this.board.arrange(scene);
    byId("kept-words").textContent = `Kept: ${words}.`;
    this.mark(true);
    this.see(view);
  }

  release() {
    this.board.scene = undefined;
    this.board.use();
    this.mark(false);
  }

  mark(isKept) {
    byId("kept-now").hidden = !isKept;
    byId("panels").classList.toggle("double", isKept);
    this.place();
  }

  /** Each kept panel behind the one that shows the same. */
  place() {
    this.board.shown.forEach((panel, i) => {
      const same = this.other.shown[i];
      if (same) byId(same.id).after(byId(panel.id));
    });
  }

  /** See it as the other, in the plane of its own. */
  see(view) {
    const { scene } = this.board;
    if (!scene) return;
    const { plane, x, y } = scene.view;
    Object.assign(scene.view, view, { plane, x, y });
    if (view.lines === "neighbours" && !scene.neighbour) scene.view.lines = "shortest";
    scene.see();
  }

  drawCharts() {
    if (this.run) this.board.drawCharts();
  }

  drawMoving(step, atRest) {
    if (this.run) this.board.drawMoving(step, atRest);
  }
}
