// Files that the page gives to its reader: pictures as PNG and SVG, data as CSV.
import { onPaper } from "circlet/draw";

const SCALE = 3; // pixels of a PNG by units of its SVG

function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Rows of values as a CSV file. */
function csv(columns, rows, digits) {
  const cell = (value) => {
    const fraction = typeof value === "number" && !Number.isInteger(value);
    const text = fraction ? `${Number(value.toPrecision(digits))}` : `${value ?? ""}`;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows].map((row) => row.map(cell).join(","));
  return `${lines.join("\n")}\n`;
}

/** An SVG file as a PNG. */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * image.naturalWidth;
  canvas.height = SCALE * image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/**
 * Make the buttons of a section's panels work. `of(id)` gives, of a panel as it looks now: `name`
 * of its file, `picture`, `draw`, which draws it, `redraw`, which draws what is there by then,
 * `table`, columns and rows of its data, and how many `digits` those have.
 */
export function offerFiles(section, of) {
  async function give(id, kind) {
    const { name, picture, draw, redraw, table, digits } = of(id);
    if (kind === "csv") return save(`${name}.csv`, csv(...table(), digits), "text/csv");
    const svg = await onPaper(picture, draw, redraw);
    if (kind === "svg") return save(`${name}.svg`, svg, "image/svg+xml");
    return save(`${name}.png`, await png(svg), "image/png");
  }
  for (const button of section.querySelectorAll("button[data-save]")) {
    const { id } = button.closest("figure");
    button.addEventListener("click", () => give(id, button.dataset.save));
  }
}
