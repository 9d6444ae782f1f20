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

/**
 * A button that starts and pauses what happens on every frame of the screen: `frame` is called with
 * the time (ms) while it plays, `changed` when it starts or pauses.
 */
export function playerOf(button, word, frame, changed = () => {}) {
  let handle;
  const next = (now) => {
    handle = requestAnimationFrame(next);
    frame(now);
  };
  const player = {
    get playing() {
      return handle !== undefined;
    },
    play(isOn) {
      const was = player.playing;
      cancelAnimationFrame(handle); // so that there is never more than one
      handle = isOn ? requestAnimationFrame(next) : undefined;
      button.textContent = isOn ? "Pause" : word;
      button.setAttribute("aria-pressed", String(isOn));
      if (isOn !== was) changed();
    },
  };
  button.addEventListener("click", () => player.play(!player.playing));
  player.play(false);
  return player;
}
