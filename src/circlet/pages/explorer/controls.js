// Elements of the page, and what starts and pauses.

/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** Call `act` with an element, by its id, at every event of a kind. */
export const on = (id, event, act) => byId(id).addEventListener(event, ({ target }) => act(target));

/** A new element with some properties, and what is in it. @type {(name: string, properties?: any, ...content: any[]) => any} */
export function element(name, properties, ...content) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...content);
  return made;
}

/** Offer entries, each a value and its words, in a list to choose from. */
export function options(id, entries, chosen) {
  const make = ([value, words]) => new Option(words, value, false, `${value}` === `${chosen}`);
  byId(id).replaceChildren(...entries.map(make));
}

/** Call `changed` when the page becomes light or dark. */
export const onScheme = (changed) =>
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

/** A button that starts and pauses what happens on every frame of the screen. */
export class Player {
  /** `frame` is called with the time (ms) while it plays, `changed` when it starts or pauses. */
  constructor(button, word, frame, changed = () => {}) {
    this.button = button;
    this.word = word;
    this.frame = frame;
    this.changed = changed;
    this.handle = undefined;
    button.addEventListener("click", () => this.play(!this.playing));
    this.play(false);
  }

  get playing() {
    return this.handle !== undefined;
  }

  play(isOn) {
    const was = this.playing;
    cancelAnimationFrame(this.handle); // so that there is never more than one
    this.handle = isOn ? requestAnimationFrame((now) => this.next(now)) : undefined;
    this.button.textContent = isOn ? "Pause" : this.word;
    this.button.setAttribute("aria-pressed", String(isOn));
    if (isOn !== was) this.changed();
  }

  next(now) {
    this.handle = requestAnimationFrame((later) => this.next(later));
    this.frame(now);
  }
}
