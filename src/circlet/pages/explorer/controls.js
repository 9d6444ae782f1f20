// Small things that all parts of the page use.

export const byId = (id) => document.getElementById(id);

/** A number with so many digits as a reader needs; a dash for none. */
export const rounded = (value) =>
  typeof value === "number" ? Number(value.toPrecision(3)).toString() : (value ?? "–");

/** Largest norm over smallest, as text. */
export const ratioText = (ratio) => (ratio < 100 ? ratio.toFixed(2) : "over 100");

/** Whether that is a circle (Mușat, appendix A). */
export const isCircle = (ratio) => ratio < 1.2;

/** A button that starts and pauses what happens on every frame of the screen. */
export class Player {
  /** `frame` is called with the time (ms) while it plays, `changed` when it starts or pauses. */
  constructor(button, word, frame, changed = () => {}) {
    Object.assign(this, { button, word, frame, changed, handle: undefined });
    button.addEventListener("click", () => this.play(!this.playing));
    this.play(false);
  }

  get playing() {
    return this.handle !== undefined;
  }

  play(on) {
    const was = this.playing;
    cancelAnimationFrame(this.handle); // so that there is never more than one
    this.handle = on ? requestAnimationFrame((now) => this.next(now)) : undefined;
    this.button.textContent = on ? "Pause" : this.word;
    this.button.setAttribute("aria-pressed", String(on));
    if (on !== was) this.changed();
  }

  next(now) {
    this.handle = requestAnimationFrame((later) => this.next(later));
    this.frame(now);
  }
}
