// Colours of the page as it looks now, light or dark; of files always light.
import { byId } from "circlet/controls";

let forFile = false;
let scheme; // what the browser says of it
const styles = new Map(); // by scheme and name: asking for a style makes the browser lay out the page

function isDark() {
  scheme ??= matchMedia("(prefers-color-scheme: dark)");
  return !forFile && scheme.matches;
}

/** A colour of theme.css, by its name. */
export function colour(name) {
  const key = `${isDark()} ${name}`;
  if (!styles.has(key)) {
    const place = forFile ? byId("light") : document.documentElement;
    styles.set(key, getComputedStyle(place).getPropertyValue(`--${name}`).trim());
  }
  return styles.get(key);
}

/** A picture as an SVG file, as on white paper. @type {(file: PanelFile) => Promise<string>} */
export async function onPaper({ picture, draw, redraw }) {
  let file;
  try {
    forFile = true;
    draw();
    file = picture.file();
  } finally {
    forFile = false; // what is drawn while the file is made is for the page
  }
  try {
    return await file;
  } finally {
    redraw();
  }
}

// Okabe and Ito's palette, distinguished by colour-blind readers; yellow is too pale on white. On black
// it is lighter.
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const ON_BLACK = ["#6fb6e6", "#ff9e5e", "#4fd0aa", "#e6a6c8", "#f0b840", "#a6dcf7"];

/** A colour for each of n classes: few that all readers distinguish, or many around the circle. */
export function classColours(n) {
  if (n > PALETTE.length) return wheel(n, 36, 68, 8, 70);
  const palette = isDark() ? ON_BLACK : PALETTE;
  return (i) => palette[i];
}

/** The same, as a background. */
export function paleColours(n) {
  if (n > PALETTE.length) return wheel(n, 86, 24, 4, isDark() ? 45 : 70);
  return (i) => `color-mix(in srgb, ${PALETTE[i]} 28%, ${isDark() ? "#1c1c1e" : "#ffffff"})`;
}

/** Colours around the circle; neighbours differ by their lightness, too. */
function wheel(n, light, dark, differs, saturation) {
  const lightness = isDark() ? dark : light;
  const shade = (i) => lightness + (i % 2 ? differs : -differs);
  return (i) => `hsl(${Math.round((360 * i) / n)}, ${saturation}%, ${shade(i)}%)`;
}

const parts = new Map();

/** Red, green and blue of any CSS colour, 0..255. */
export function rgb(css) {
  if (!parts.has(css)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.fillStyle = css;
    pen.fillRect(0, 0, 1, 1);
    parts.set(css, pen.getImageData(0, 0, 1, 1).data.slice(0, 3));
  }
  return parts.get(css);
}
