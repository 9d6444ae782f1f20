// Small things that all parts of the page use.

export const byId = (id) => document.getElementById(id);

/** Offer entries, each a value and its words, in a list to choose from. */
export function options(id, entries, chosen) {
  const make = ([value, words]) => new Option(words, value, false, `${value}` === `${chosen}`);
  byId(id).replaceChildren(...entries.map(make));
}

/** A number with three digits, or all before its point; a dash for none. */
export function rounded(value) {
  if (typeof value !== "number") return value ?? "–";
  const size = Math.abs(value);
  return `${size > 100 && size < 1e9 ? Math.round(value) : Number(value.toPrecision(3))}`;
}

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
