// What live simulations share: fields, buttons, a frame that repeats, files.
import { byId, onScheme, playerOf } from "circlet/controls";
import { offerFiles } from "circlet/files";

/** Take the values of fields over; one that is empty or out of range keeps its last, and says why. */
function read(fields, settings) {
  const why = [];
  for (const field of fields) {
    if (field.checkValidity()) settings[field.name] = Number(field.value);
    else why.push(`${field.labels[0].textContent}: ${field.validationMessage}`);
  }
  return why.join(" ");
}

/**
 * Set a simulation up in its section of the page, `live-NAME`, with settings by name, as its fields.
 *
 * A button with `data-with`, values of fields and a number of steps, starts it with these and pauses
 * it after those. Returns the player, and what shows again.
 * @type {(name: string, defaults: any, simulation: Simulation) => { player: Player, draw(): void }}
 */
export function live(name, defaults, { begin, step, show, files }) {
  const settings = { ...defaults };
  const section = byId(`live-${name}`);
  const part = (id) => byId(`${name}-${id}`);
  const fields = [...section.querySelectorAll("fieldset input")];
  let steps;
  let until; // the step at which it pauses

  function draw() {
    show(settings);
    part("steps").textContent = steps;
  }

  function restart(last = Infinity) {
    part("wrong").textContent = read(fields, settings);
    begin(settings);
    steps = 0;
    until = last;
    draw();
  }

  function advance(times) {
    for (let i = 0; i < times; i++) step(settings);
    steps += times;
    draw();
    if (steps >= until) player.play(false);
  }

  function set(field) {
    const isStart = field.closest("[data-start]");
    if (isStart && field.checkValidity()) return restart();
    part("wrong").textContent = read(fields, settings);
    return draw();
  }

  const player = playerOf(part("run"), "Start", () => advance(Number(part("frame").value)));
  part("step").addEventListener("click", () => {
    player.play(false);
    advance(1);
  });
  part("restart").addEventListener("click", () => restart());
  for (const button of section.querySelectorAll("button[data-with]")) {
    button.addEventListener("click", () => {
      const { steps: last, ...values } = JSON.parse(button.dataset.with);
      for (const field of fields) field.value = values[field.name] ?? field.value;
      restart(last);
      player.play(true);
    });
  }
  for (const field of fields) {
    const event = field.closest("[data-start]") ? "change" : "input";
    field.addEventListener(event, () => set(field));
  }
  offerFiles(section, (id) => {
    const how = { draw, redraw: draw, digits: 15 };
    return { name: `${id}_step_${steps}`, ...how, ...files(id) };
  });
  onScheme(draw);
  restart();
  return { player, draw };
}
