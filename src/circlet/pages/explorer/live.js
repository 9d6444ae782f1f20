// What live simulations share: fields, buttons, a frame that repeats, files.
import { byId, Player } from "circlet/controls";
import { offerFiles } from "circlet/files";

/**
 * Set a simulation up in its section of the page, `live-NAME`.
 *
 * A button with `data-with`, values of fields and a number of steps, starts it with these and pauses
 * it after those. settings: by name, as the fields; `begin(settings)` starts anew; `step(settings)` goes a step on;
 * `show(settings)` draws and reads; `files(id)`: see offerFiles. Returns the player, and what
 * shows again.
 */
export function live(name, settings, { begin, step, show, files }) {
  const section = byId(`live-${name}`);
  const part = (id) => byId(`${name}-${id}`);
  const fields = [...section.querySelectorAll("fieldset input[type=number]")];
  let steps;
  let until = Infinity; // the step at which it pauses

  /** A field that is empty or out of range keeps its last value, and says why. */
  function read() {
    const wrong = fields.filter((field) => !field.checkValidity());
    for (const field of fields) {
      if (!wrong.includes(field)) settings[field.name] = Number(field.value);
    }
    const why = wrong.map((field) => `${field.labels[0].textContent}: ${field.validationMessage}`);
    part("wrong").textContent = why.join(" ");
  }

  function draw() {
    show(settings);
    part("steps").textContent = steps;
  }

  function restart() {
    read();
    begin(settings);
    steps = 0;
    until = Infinity;
    draw();
  }

  function advance(times) {
    for (let i = 0; i < times; i++) step(settings);
    steps += times;
    draw();
    if (steps >= until) player.play(false);
  }

  const player = new Player(part("run"), "Start", () => advance(Number(part("frame").value)));
  part("step").addEventListener("click", () => {
    player.play(false);
    advance(1);
  });
  part("restart").addEventListener("click", restart);
  for (const button of section.querySelectorAll("button[data-with]")) {
    button.addEventListener("click", () => {
      const { steps: last, ...values } = JSON.parse(button.dataset.with);
      for (const field of fields) field.value = values[field.name] ?? field.value;
      restart();
      until = last;
      player.play(true);
    });
  }
  for (const field of section.querySelectorAll("fieldset input")) {
    const isStart = field.closest("[data-start]");
    field.addEventListener(isStart ? "change" : "input", () => {
      if (isStart && field.checkValidity()) return restart();
      read();
      return draw();
    });
  }
  offerFiles(section, (id) => ({
    name: `${id}_step_${steps}`,
    draw,
    redraw: draw,
    digits: 15,
    ...files(id),
  }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  restart();
  return { player, draw };
}
