// Files that the page gives to its reader: pictures as PNG and SVG, data as CSV.
import { onPaper } from "circlet/colours";
import { element } from "circlet/controls";

const SCALE = 3; // pixels of a PNG by units of its SVG

function save(name, content, type) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  const link = element("a", { href, download: name });
  link.click();
  URL.revokeObjectURL(href);
}

/** Rows of values as a CSV file. */
export function csv([columns, rows], digits) {
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
  const [width, height] = [image.naturalWidth, image.naturalHeight].map((side) => SCALE * side);
  const canvas = element("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Make the buttons of a section's panels work, `of(id)` says for each as it looks now. @param {(id: string) => PanelFile} of */
export function offerFiles(section, of) {
  async function give(id, kind) {
    const file = of(id);
    const { name, table, digits } = file;
    if (kind === "csv") return save(`${name}.csv`, csv(table(), digits), "text/csv");
    const svg = await onPaper(file);
    if (kind === "svg") return save(`${name}.svg`, svg, "image/svg+xml");
    return save(`${name}.png`, await png(svg), "image/png");
  }
  for (const button of section.querySelectorAll("button[data-save]")) {
    const { id } = button.closest("figure");
    button.addEventListener("click", () => give(id, button.dataset.save));
  }
}
