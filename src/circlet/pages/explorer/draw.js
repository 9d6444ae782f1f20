// Pictures that move with training: places in a plane, and tables of cells, as SVG over a canvas.
// Drawn by hand because a plotting library takes 10 to 20 ms for each, a frame has 16.
import { colour, rgb } from "circlet/colours";
import { ticks } from "circlet/geometry";
import { range } from "circlet/numbers";

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, sans-serif";
const [SIDE, LEFT, TOP] = [310, 46, 8]; // of the plot, in units of the picture
const WHOLE = [LEFT + SIDE + 10, TOP + SIDE + 34]; // with what is written around it

function make(name, attributes = {}, parent) {
  const made = document.createElementNS(SVG, name);
  set(made, attributes);
  parent?.append(made);
  return made;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/** As many children of a kind as are needed, so that no frame makes what the last one had. */
function pool(parent, name, count) {
  while (parent.childElementCount < count) make(name, {}, parent);
  while (parent.childElementCount > count) parent.lastChild.remove();
  return parent.children;
}

/** Numbers of the places that are finite. */
const finite = (xy) =>
  range(xy.length / 2).filter((n) => Number.isFinite(xy[2 * n]) && Number.isFinite(xy[2 * n + 1]));

const shorten = (value) => Number(value.toPrecision(4)).toString();

/** A picture with axes over a canvas. */
class Picture {
  constructor(holder) {
    this.canvas = document.createElement("canvas");
    this.pen = this.canvas.getContext("2d");
    const title = holder.closest("figure").querySelector("b").textContent;
    const words = { role: "img", "aria-label": `${title}, as a picture` };
    this.svg = make("svg", { viewBox: `0 0 ${WHOLE.join(" ")}`, ...words });
    holder.classList.add("picture");
    holder.style.aspectRatio = WHOLE.join(" / ");
    const share = (part, axis) => `${(100 * part) / WHOLE[axis]}%`;
    Object.assign(this.canvas.style, {
      left: share(LEFT, 0),
      top: share(TOP, 1),
      width: share(SIDE, 0),
      height: share(SIDE, 1),
    });
    holder.replaceChildren(this.canvas, this.svg);
    this.axes = make("g", { "font-family": FONT, "font-size": 10 }, this.svg);
    this.inside = make("g", {}, this.svg);
    this.marks = make("path", { d: "", fill: "none", "stroke-width": 2 }, this.svg);
    this.framed = ""; // what is written on the axes
  }

  /** Mark what a reader points at: a path over all else. */
  mark(d) {
    set(this.marks, { d });
  }

  /** Where a pointer is in the plot: 0..1 from the left and from the top. */
  shares({ clientX, clientY }) {
    const place = this.svg.getBoundingClientRect();
    const unit = place.width / WHOLE[0];
    const along = (pointer, edge, margin) => ((pointer - edge) / unit - margin) / SIDE;
    return [along(clientX, place.left, LEFT), along(clientY, place.top, TOP)];
  }

  /** Frame, ticks and labels: each tick has a place in the plot, 0..1, and a text. */
  frame(x, y, xLabel, yLabel) {
    set(this.marks, { stroke: colour("ink") });
    const key = JSON.stringify([x, y, xLabel, yLabel, colour("ink")]);
    if (key === this.framed) return;
    this.framed = key;
    this.axes.replaceChildren();
    const text = (words, attributes) => {
      make("text", { fill: colour("ink"), ...attributes }, this.axes).textContent = words;
    };
    const line = { fill: "none", stroke: colour("line") };
    make("rect", { x: LEFT, y: TOP, width: SIDE, height: SIDE, ...line }, this.axes);
    const [bottom, middle] = [TOP + SIDE, { "text-anchor": "middle" }];
    for (const [at, words] of x) {
      const here = LEFT + at * SIDE;
      make("path", { d: `M${here} ${bottom}v4`, ...line }, this.axes);
      text(words, { x: here, y: bottom + 14, ...middle });
    }
    for (const [at, words] of y) {
      const here = TOP + at * SIDE;
      make("path", { d: `M${LEFT} ${here}h-4`, ...line }, this.axes);
      text(words, { x: LEFT - 6, y: here + 3.5, "text-anchor": "end" });
    }
    text(xLabel, { x: LEFT + SIDE / 2, y: bottom + 29, ...middle });
    text(yLabel, { transform: `translate(10 ${TOP + SIDE / 2}) rotate(-90)`, ...middle });
  }

  /** The picture as an SVG file. */
  file() {
    const copy = /** @type {Element} */ (this.svg.cloneNode(true));
    const [width, height] = WHOLE;
    set(copy, { xmlns: SVG, width, height });
    const plot = { x: LEFT, y: TOP, width: SIDE, height: SIDE, preserveAspectRatio: "none" };
    const style = "image-rendering: pixelated";
    const image = make("image", { ...plot, href: this.canvas.toDataURL(), style });
    const paper = make("rect", { width, height, fill: colour("paper") });
    copy.prepend(paper, image);
    return new XMLSerializer().serializeToString(copy);
  }
}

/** Places in a plane: dots, texts, lines, and regions behind them. */
export class Plane extends Picture {
  constructor(holder) {
    super(holder);
    this.curves = make("g", { fill: "none", "stroke-linejoin": "round" }, this.inside);
    this.dots = make("g", { fill: "none", "stroke-linecap": "round" }, this.inside);
    const middle = { "text-anchor": "middle", "dominant-baseline": "central" };
    this.texts = make("g", { "font-family": FONT, ...middle }, this.inside);
    this.box = [0, 1, 0, 1];
  }

  /** A place in units of the picture. */
  at(xy, n) {
    const [left, right, bottom, top] = this.box;
    const x = LEFT + ((xy[2 * n] - left) / (right - left)) * SIDE;
    const y = TOP + ((top - xy[2 * n + 1]) / (top - bottom)) * SIDE;
    return [x.toFixed(1), y.toFixed(1)];
  }

  /**
   * What there is in a box. curves: lines of a colour, whose dash is as in SVG; dots, or crosses;
   * texts: words at places; regions: classes on a grid of `side` rows, each in its colour.
   * @param {{ box: Box, xLabel: string, yLabel: string,
   *   curves?: { lines: Numbers[], colour: string, width?: number, dash?: string }[],
   *   dots?: { xy: Numbers, colour: string, size: number, isCross?: boolean }[],
   *   texts?: { xy: Numbers, words: any[], colour: string, size: number, isBold?: boolean }[],
   *   regions?: { side: number, classes: Numbers, colour: (c: number) => string } }} drawn
   */
  draw({ box, xLabel, yLabel, curves = [], dots = [], texts = [], regions }) {
    this.box = box;
    const [left, right, bottom, top] = box;
    this.frame(
      ticks(left, right).map((value) => [(value - left) / (right - left), shorten(value)]),
      ticks(bottom, top).map((value) => [(top - value) / (top - bottom), shorten(value)]),
      xLabel,
      yLabel,
    );
    this.paint(regions);
    const lines = pool(this.curves, "path", curves.length);
    curves.forEach((curve, n) => {
      const d = curve.lines.map((xy) => this.line(xy)).join("");
      const look = { stroke: curve.colour, "stroke-width": curve.width ?? 1.4 };
      set(lines[n], { d, ...look, "stroke-dasharray": curve.dash ?? "none" });
    });
    const groups = pool(this.dots, "path", dots.length);
    dots.forEach(({ xy, size, isCross, colour: stroke }, n) => {
      const half = size / 2;
      const mark = isCross ? `m-${half}-${half}l${size} ${size}m-${size} 0l${size}-${size}` : "h0";
      const d = finite(xy).map((i) => `M${this.at(xy, i).join(" ")}${mark}`);
      set(groups[n], { d: d.join(""), stroke, "stroke-width": isCross ? 1 : size });
    });
    this.write(texts);
  }

  line(xy) {
    const places = finite(xy).map((n) => this.at(xy, n).join(" "));
    return places.length ? `M${places.join("L")}` : "";
  }

  /** Colour the background by regions; of none, clear it. */
  paint(regions) {
    const { canvas, pen } = this;
    if (!regions) return pen.clearRect(0, 0, canvas.width, canvas.height);
    const { side, classes } = regions;
    if (canvas.width !== side || canvas.height !== side) canvas.width = canvas.height = side;
    const image = pen.createImageData(side, side);
    const colours = new Map(); // by class: rgb of each place would take long
    for (let i = 0; i < side * side; i++) {
      if (!colours.has(classes[i])) colours.set(classes[i], rgb(regions.colour(classes[i])));
      image.data.set([...colours.get(classes[i]), 255], 4 * i);
    }
    return pen.putImageData(image, 0, 0);
  }

  write(texts) {
    const places = texts.map(({ xy }) => finite(xy));
    const nodes = pool(this.texts, "text", places.flat().length);
    let n = 0;
    texts.forEach(({ xy, words, colour: fill, size, isBold }, group) => {
      const look = { fill, "font-size": size, "font-weight": isBold ? "bold" : "normal" };
      for (const i of places[group]) {
        const node = nodes[n++];
        if (node.textContent !== `${words[i]}`) node.textContent = words[i];
        const [x, y] = this.at(xy, i);
        set(node, { x, y, ...look });
      }
    });
  }

  /** The point of the plane at which a pointer is. */
  pointed(event) {
    const [left, right, bottom, top] = this.box;
    const [across, down] = this.shares(event);
    return [left + across * (right - left), top + down * (bottom - top)];
  }

  /** Rings around places of the last drawing. @type {(groups: { xy: Numbers, size: number }[]) => void} */
  ring(groups) {
    const circle = (xy, n, size) => {
      const [x, y] = this.at(xy, n);
      const half = `a${size / 2} ${size / 2} 0 1 0`;
      return `M${(Number(x) - size / 2).toFixed(1)} ${y}${half} ${size} 0${half} -${size} 0`;
    };
    const rings = groups.flatMap(({ xy, size }) => finite(xy).map((n) => circle(xy, n, size)));
    this.mark(rings.join(""));
  }
}

const FINE = 480; // least pixels of a side of a table
const NAMED = 20; // rows of a table up to which all are named

/** A table of cells, each filled with a colour or crossed out in it. */
export class Cells extends Picture {
  rows = 1;
  columns = 1;

  /**
   * Cells row by row; x and y: what columns and rows are named, each a number of one and its words.
   * @param {{ rows: number, columns: number, cells: { colour: string, isCrossed?: boolean }[],
   *   x?: [number, string][], y?: [number, string][], xLabel: string, yLabel: string }} drawn
   */
  draw({ rows, columns, cells, x = named(columns), y = named(rows), xLabel, yLabel }) {
    this.rows = rows;
    this.columns = columns;
    const [wide, high] = [columns, rows].map((count) => Math.max(4, Math.ceil(FINE / count)));
    const gap = rows > 40 ? 0 : 1;
    const { canvas, pen } = this;
    canvas.width = wide * columns; // which clears it
    canvas.height = high * rows;
    pen.lineWidth = Math.max(1, wide / 10);
    cells.forEach(({ colour: fill, isCrossed }, i) => {
      const [left, top] = [wide * (i % columns), high * Math.floor(i / columns)];
      pen.fillStyle = pen.strokeStyle = fill;
      if (!isCrossed) return pen.fillRect(left, top, wide - gap, high - gap);
      const [near, far] = [0.2, 0.8];
      pen.beginPath();
      pen.moveTo(left + near * wide, top + near * high);
      pen.lineTo(left + far * wide, top + far * high);
      pen.moveTo(left + near * wide, top + far * high);
      pen.lineTo(left + far * wide, top + near * high);
      return pen.stroke();
    });
    const middles = (ticks, of) => ticks.map(([i, words]) => [(i + 0.5) / of, words]);
    this.frame(middles(x, columns), middles(y, rows), xLabel, yLabel);
  }

  /** The cell at which a pointer is, [row, column]; none outside. */
  pointed(event) {
    const [across, down] = this.shares(event);
    if (!(across >= 0 && across < 1 && down >= 0 && down < 1)) return undefined;
    return [Math.floor(down * this.rows), Math.floor(across * this.columns)];
  }

  /** Outline a cell, [row, column], and name its row and column by lines; or none. */
  outline(cell) {
    if (!cell) return this.mark("");
    const [wide, high] = [SIDE / this.columns, SIDE / this.rows];
    const [x, y] = [LEFT + cell[1] * wide, TOP + cell[0] * high];
    const box = `M${x} ${y}h${wide}v${high}h-${wide}z`;
    const down = `M${x + wide / 2} ${TOP + SIDE}V${y + high}`;
    return this.mark(`${box}M${LEFT} ${y + high / 2}H${x}${down}`);
  }
}

/** Some of n rows or columns by their numbers. @returns {[number, string][]} */
function named(count) {
  const interval = Math.ceil(count / NAMED);
  return range(count)
    .filter((i) => i % interval === 0)
    .map((i) => [i, `${i}`]);
}
