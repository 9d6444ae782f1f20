// Pictures that move with training: places in a plane, and maps of numbers, as SVG over a canvas.
// Drawn by hand because a plotting library takes 10 to 20 ms for each, a frame has 16.
import { byId } from "circlet/controls";
import { ticks } from "circlet/geometry";

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, sans-serif";

let forFile = false;

const isDark = matchMedia("(prefers-color-scheme: dark)");
const colours = new Map(); // by scheme and name: asking for a style makes the browser lay out the page

/** Colours of the page as it looks now, light or dark; of files always light. */
export function theme() {
  const dark = !forFile && isDark.matches;
  const place = forFile ? byId("light") : document.documentElement;
  const scheme = dark ? "dark" : "light";
  const colour = (name) => {
    const key = `${scheme} ${name}`;
    if (!colours.has(key)) {
      colours.set(key, getComputedStyle(place).getPropertyValue(`--${name}`).trim());
    }
    return colours.get(key);
  };
  return { colour, dark };
}

/** A picture as an SVG file, as on white paper: `draw` draws what is in it, `redraw` what was. */
export async function onPaper(picture, draw, redraw) {
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

// Okabe and Ito's palette, told apart by colour-blind readers; yellow is too pale on white. On black
// it is lighter.
const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const ON_BLACK = ["#6fb6e6", "#ff9e5e", "#4fd0aa", "#e6a6c8", "#f0b840", "#a6dcf7"];

/**
 * A colour for each of n classes: few that all readers tell apart; of more, around the colour circle,
 * neighbours by their lightness, too.
 */
export function classColour(n, { dark }, pale = false) {
  const lightness = pale ? (dark ? 24 : 86) : dark ? 68 : 36;
  const saturation = pale && dark ? 45 : 70;
  if (n > PALETTE.length) {
    const shade = (i) => lightness + (i % 2 ? 1 : -1) * (pale ? 4 : 8);
    return (i) => `hsl(${Math.round((360 * i) / n)}, ${saturation}%, ${shade(i)}%)`;
  }
  const paper = dark ? "#1c1c1e" : "#ffffff";
  return (i) => {
    if (pale) return `color-mix(in srgb, ${PALETTE[i]} 28%, ${paper})`;
    return (dark ? ON_BLACK : PALETTE)[i];
  };
}

/** Red, green and blue of any CSS colour, 0..255. */
const known = new Map();
function rgb(colour) {
  if (!known.has(colour)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    known.set(colour, pen.getImageData(0, 0, 1, 1).data.slice(0, 3));
  }
  return known.get(colour);
}

function make(name, attributes = {}, parent) {
  const element = document.createElementNS(SVG, name);
  set(element, attributes);
  parent?.append(element);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

/** As many children of a kind as are needed, so that no frame makes what the last one had. */
function pool(parent, name, count) {
  while (parent.childElementCount < count) make(name, {}, parent);
  while (parent.childElementCount > count) parent.lastChild.remove();
  return parent.children;
}

const isPlace = (xy, i) => Number.isFinite(xy[i]) && Number.isFinite(xy[i + 1]);

const shorten = (value) => Number(value.toPrecision(4)).toString();

/** A picture with axes over a canvas; `width` and `height` of the plot, in its own units. */
class Picture {
  constructor(holder, width, height, left) {
    Object.assign(this, { holder, width, height, left, top: 8 });
    this.whole = [left + width + 10, height + this.top + 34];
    this.canvas = document.createElement("canvas");
    const title = holder.closest("figure").querySelector("b").textContent;
    const words = { role: "img", "aria-label": `${title}, as a picture` };
    this.svg = make("svg", { viewBox: `0 0 ${this.whole.join(" ")}`, ...words });
    holder.classList.add("picture");
    holder.style.aspectRatio = this.whole.join(" / ");
    const share = (part, of) => `${(100 * part) / of}%`;
    Object.assign(this.canvas.style, {
      left: share(left, this.whole[0]),
      top: share(this.top, this.whole[1]),
      width: share(width, this.whole[0]),
      height: share(height, this.whole[1]),
    });
    holder.replaceChildren(this.canvas, this.svg);
    this.axes = make("g", { "font-family": FONT, "font-size": 10 }, this.svg);
    this.inside = make("g", {}, this.svg);
    this.marks = make("path", { d: "", fill: "none", "stroke-width": 2 }, this.svg);
  }

  /** Mark what a reader points at: a path over all else. */
  mark(d) {
    set(this.marks, { d });
  }

  /** Where a pointer is in the plot: 0..1 from the left and from the top. */
  shares({ clientX, clientY }) {
    const place = this.svg.getBoundingClientRect();
    const unit = place.width / this.whole[0];
    return [
      ((clientX - place.left) / unit - this.left) / this.width,
      ((clientY - place.top) / unit - this.top) / this.height,
    ];
  }

  /** Colour its background: rows of cells, each a list of red, green and blue; none clears it. */
  paint(columns, rows, colourOf) {
    const pen = this.canvas.getContext("2d");
    if (!columns) return pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.canvas.width !== columns) this.canvas.width = columns;
    if (this.canvas.height !== rows) this.canvas.height = rows;
    const image = pen.createImageData(columns, rows);
    for (let i = 0; i < columns * rows; i++) {
      const [red, green, blue] = colourOf(i);
      image.data.set([red, green, blue, 255], 4 * i);
    }
    return pen.putImageData(image, 0, 0);
  }

  /** Frame, ticks and labels: each tick has a place in the plot, 0..1, and a text. */
  frame({ x, y, xLabel, yLabel }) {
    const { colour } = theme();
    const { left, top, width, height } = this;
    set(this.marks, { stroke: colour("ink") });
    const key = JSON.stringify([x, y, xLabel, yLabel, colour("ink")]);
    if (key === this.framed) return;
    this.framed = key;
    this.axes.replaceChildren();
    const text = (words, attributes) => {
      make("text", { fill: colour("ink"), ...attributes }, this.axes).textContent = words;
    };
    const line = { fill: "none", stroke: colour("line") };
    make("rect", { x: left, y: top, width, height, ...line }, this.axes);
    for (const [at, words] of x) {
      const here = left + at * width;
      make("path", { d: `M${here} ${top + height}v4`, ...line }, this.axes);
      text(words, { x: here, y: top + height + 14, "text-anchor": "middle" });
    }
    for (const [at, words] of y) {
      const here = top + at * height;
      make("path", { d: `M${left} ${here}h-4`, ...line }, this.axes);
      text(words, { x: left - 6, y: here + 3.5, "text-anchor": "end" });
    }
    text(xLabel, { x: left + width / 2, y: top + height + 29, "text-anchor": "middle" });
    const turn = `translate(10 ${top + height / 2}) rotate(-90)`;
    text(yLabel, { transform: turn, "text-anchor": "middle" });
  }

  /** The picture as an SVG file. */
  file() {
    const copy = this.svg.cloneNode(true);
    const [width, height] = this.whole;
    set(copy, { xmlns: SVG, width, height });
    const { left: x, top: y } = this;
    const plot = { x, y, width: this.width, height: this.height, preserveAspectRatio: "none" };
    const style = "image-rendering: pixelated";
    const image = make("image", { ...plot, href: this.canvas.toDataURL(), style });
    const paper = make("rect", { width, height, fill: theme().colour("paper") });
    copy.prepend(paper, image);
    return new XMLSerializer().serializeToString(copy);
  }
}

/** Places in a plane: dots, texts, lines, and regions behind them. */
export class Plane extends Picture {
  constructor(holder) {
    super(holder, 310, 310, 46);
    const join = { fill: "none", "stroke-linejoin": "round" };
    this.lines = make("path", { ...join, "stroke-width": 1.1 }, this.inside);
    this.curves = make("g", join, this.inside);
    this.dots = make("g", { "stroke-linecap": "round" }, this.inside);
    this.arrows = make("path", { ...join, "stroke-width": 1.4 }, this.inside);
    const middle = { "text-anchor": "middle", "dominant-baseline": "central" };
    this.texts = make("g", { "font-family": FONT, ...middle }, this.inside);
  }

  /**
   * box: left, right, bottom, top; lines, arrows: [[x, y, ...], ...]; curves: [{ lines, colour,
   * dash }], whose dash is as in SVG; dots: [{ xy, colour, size }],
   * or with `cross` crosses of that size; texts: [{ xy, words, colour, size, bold }];
   * regions: { side, classes, colour }.
   */
  draw({
    box,
    xLabel,
    yLabel,
    lines = [],
    curves = [],
    arrows = [],
    dots = [],
    texts = [],
    regions,
  }) {
    const [left, right, bottom, top] = (this.box = box);
    const { colour } = theme();
    const x = (value) => this.left + ((value - left) / (right - left)) * this.width;
    const y = (value) => this.top + ((top - value) / (top - bottom)) * this.height;
    const at = (xy, i) => `${x(xy[i]).toFixed(1)} ${y(xy[i + 1]).toFixed(1)}`;
    this.frame({
      x: ticks(left, right).map((value) => [(value - left) / (right - left), shorten(value)]),
      y: ticks(bottom, top).map((value) => [(top - value) / (top - bottom), shorten(value)]),
      xLabel,
      yLabel,
    });
    if (regions) {
      const { side, classes } = regions;
      this.paint(side, side, (i) => rgb(regions.colour(classes[i])));
    } else this.paint(0);
    const path = (xy) => {
      const parts = [];
      for (let i = 0; i < xy.length; i += 2) if (isPlace(xy, i)) parts.push(at(xy, i));
      return parts.length ? `M${parts.join("L")}` : "";
    };
    set(this.lines, { d: lines.map(path).join(""), stroke: colour("line") });
    const drawn = pool(this.curves, "path", curves.length);
    curves.forEach((curve, n) => {
      const d = curve.lines.map(path).join("");
      const look = { stroke: curve.colour, "stroke-width": 1.4 };
      set(drawn[n], { d, ...look, "stroke-dasharray": curve.dash ?? "none" });
    });
    set(this.arrows, { d: arrows.map(path).join(""), stroke: colour("force") });
    const groups = pool(this.dots, "path", dots.length);
    dots.forEach((group, n) => {
      const { xy, size, cross } = group;
      const half = size / 2;
      const mark = cross ? `m-${half}-${half}l${size} ${size}m-${size} 0l${size}-${size}` : "h0";
      let d = "";
      for (let i = 0; i < xy.length; i += 2) if (isPlace(xy, i)) d += `M${at(xy, i)}${mark}`;
      set(groups[n], { d, fill: "none", stroke: group.colour, "stroke-width": cross ? 1 : size });
    });
    this.write(texts, x, y);
  }

  /** The point of the plane at which a pointer is. */
  pointed(event) {
    const [left, right, bottom, top] = this.box;
    const [across, down] = this.shares(event);
    return [left + across * (right - left), top + down * (bottom - top)];
  }

  /** Rings around places of the last drawing: [{ xy, size }]. */
  ring(groups) {
    const [left, right, bottom, top] = this.box;
    const circle = (xy, i, size) => {
      const x = this.left + ((xy[i] - left) / (right - left)) * this.width - size / 2;
      const y = this.top + ((top - xy[i + 1]) / (top - bottom)) * this.height;
      const half = `a${size / 2} ${size / 2} 0 1 0`;
      return `M${x.toFixed(1)} ${y.toFixed(1)}${half} ${size} 0${half} -${size} 0`;
    };
    let d = "";
    for (const { xy, size } of groups) {
      for (let i = 0; i < xy.length; i += 2) if (isPlace(xy, i)) d += circle(xy, i, size);
    }
    this.mark(d);
  }

  write(texts, x, y) {
    const shown = ({ xy }, i) => Number.isFinite(xy[2 * i]) && Number.isFinite(xy[2 * i + 1]);
    const places = texts.map((group) => [...group.words.keys()].filter((i) => shown(group, i)));
    const nodes = pool(this.texts, "text", places.flat().length);
    let n = 0;
    texts.forEach(({ xy, words, colour, size, bold }, group) => {
      for (const i of places[group]) {
        const node = nodes[n++];
        if (node.textContent !== `${words[i]}`) node.textContent = words[i];
        set(node, {
          x: x(xy[2 * i]).toFixed(1),
          y: y(xy[2 * i + 1]).toFixed(1),
          fill: typeof colour === "function" ? colour(i) : colour,
          "font-size": size,
          "font-weight": bold ? "bold" : "normal",
        });
      }
    });
  }
}

const FINE = 480; // least pixels of a side of a table

/** A square table, each cell filled with a colour or crossed out in it. */
export class Cells extends Picture {
  constructor(holder) {
    super(holder, 310, 310, 46);
  }

  /** side: rows and columns; cells: [{ colour, isCrossed }], row by row. */
  draw({ side, cells, xLabel, yLabel }) {
    this.side = side;
    const size = Math.max(4, Math.ceil(FINE / side)); // pixels of a cell
    const gap = side > 40 ? 0 : 1;
    this.canvas.width = this.canvas.height = size * side; // which clears it
    const pen = this.canvas.getContext("2d");
    pen.lineWidth = Math.max(1, size / 10);
    cells.forEach(({ colour, isCrossed }, i) => {
      const [x, y] = [size * (i % side), size * Math.floor(i / side)];
      pen.fillStyle = pen.strokeStyle = colour;
      if (!isCrossed) return pen.fillRect(x, y, size - gap, size - gap);
      const [near, far] = [0.2 * size, 0.8 * size];
      pen.beginPath();
      pen.moveTo(x + near, y + near);
      pen.lineTo(x + far, y + far);
      pen.moveTo(x + near, y + far);
      pen.lineTo(x + far, y + near);
      return pen.stroke();
    });
    const every = Math.ceil(side / 20);
    const middles = [...Array(side).keys()].filter((i) => i % every === 0);
    const named = middles.map((i) => [(i + 0.5) / side, i]);
    this.frame({ x: named, y: named, xLabel, yLabel });
  }

  /** The cell at which a pointer is, [row, column]; none outside. */
  pointed(event) {
    const [column, row] = this.shares(event).map((share) => Math.floor(share * this.side));
    const isInside = [row, column].every((i) => i >= 0 && i < this.side);
    return isInside ? [row, column] : undefined;
  }

  /** Outline a cell, [row, column], and name its row and column by lines; or none. */
  outline(cell) {
    if (!cell) return this.mark("");
    const unit = this.width / this.side;
    const [x, y] = [this.left + cell[1] * unit, this.top + cell[0] * unit];
    const box = `M${x} ${y}h${unit}v${unit}h-${unit}z`;
    const lines = `M${this.left} ${y + unit / 2}H${x}M${x + unit / 2} ${this.top + this.height}V${y + unit}`;
    return this.mark(box + lines);
  }
}

/** A map of numbers: the columns and rows of a matrix, the larger the darker. */
export class Heat extends Picture {
  constructor(holder) {
    super(holder, 310, 310, 46);
  }

  /** values: row by row; most: the number of the darkest; x, y: texts by column and row. */
  draw({ values, rows, columns, most, x, y, xLabel, yLabel }) {
    const { colour } = theme();
    const [low, high] = [rgb(colour("paper")), rgb(colour("force"))];
    this.paint(columns, rows, (i) => {
      const share = Math.min(Math.max(values[i] / most, 0), 1) || 0;
      return [0, 1, 2].map((part) => low[part] + share * (high[part] - low[part]));
    });
    const middle =
      (of) =>
      ([i, words]) => [(i + 0.5) / of, words];
    this.frame({ x: x.map(middle(columns)), y: y.map(middle(rows)), xLabel, yLabel });
  }
}
