// Curves over the steps of a training and matrices, by Plotly. They are drawn once per run; while
// training is scrubbed only a line moves over them.
import { colour } from "circlet/colours";
import { element } from "circlet/controls";

/** What all charts share, in the colours of the page. */
const common = () => ({
  margin: { l: 58, r: 26, t: 8, b: 40 },
  font: { family: "system-ui, sans-serif", size: 11, color: colour("ink") },
  paper_bgcolor: colour("paper"),
  plot_bgcolor: colour("paper"),
  hoverlabel: { bgcolor: colour("paper"), font: { color: colour("ink") } },
  showlegend: false,
  hoverdistance: -1, // a click anywhere is one on the nearest curve
});

const axis = () => ({
  gridcolor: colour("grid"),
  linecolor: colour("line"),
  zeroline: false,
  ticks: "outside",
  tickcolor: colour("line"),
  mirror: true,
  exponentformat: "power",
});

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset" };

/** A chart, drawn by a promise of the library; over steps, `onStep` is called with the one clicked. */
export class Chart {
  /** @param {(step: number) => void} [onStep] */
  constructor(holder, plotly, onStep) {
    this.plotly = plotly;
    this.onStep = onStep;
    this.queue = Promise.resolve();
    this.step = undefined;
    this.plot = element("div");
    this.line = element("div", { className: "cursor" });
    // A touch scrolls the page; what of it is a click comes as one of the mouse.
    const keep = (event) => event.stopPropagation();
    this.plot.addEventListener("touchstart", keep, { capture: true, passive: true });
    holder.classList.add("chart");
    holder.replaceChildren(this.plot, this.line);
  }

  /** Draw traces. What the reader has enlarged stays as long as `uirevision` of the layout does. */
  show(traces, layout) {
    const whole = { ...common(), ...layout };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) whole[name] = { ...axis(), ...layout[name] };
    }
    const draw = async () => {
      const plotly = await this.plotly; // which may still be on its way
      const isFirst = !this.plot.on;
      await plotly.react(this.plot, traces, whole, CONFIG);
      // It may have been drawn before it had a place of its own; it may have none now.
      if (this.plot.offsetParent) await plotly.Plots.resize(this.plot);
      if (isFirst) {
        this.plot.on("plotly_click", ({ points }) => this.onStep?.(points[0].x));
        this.plot.on("plotly_afterplot", () => this.cursor(this.step));
      }
      this.cursor(this.step);
    };
    this.queue = this.queue.then(draw, draw); // one that failed does not end those that follow
    return this.queue;
  }

  /** Move the line to a step, if its axis has steps; no step, no line. */
  cursor(step) {
    this.step = step;
    // The library's own way to move a line, relayout, redraws the chart: 20 ms.
    const { xaxis, _size: size } = this.plot._fullLayout ?? {};
    const at = xaxis && this.onStep && step !== undefined ? xaxis.d2p(step) : NaN;
    this.line.hidden = !(at >= -0.5 && at <= xaxis?._length + 0.5);
    if (this.line.hidden) return;
    this.line.style.transform = `translateX(${xaxis._offset + at}px)`;
    this.line.style.top = `${size.t}px`;
    this.line.style.height = `${size.h}px`;
  }

  /** The chart as an SVG file. */
  async file() {
    await this.queue;
    const { width, height } = this.plot.getBoundingClientRect();
    const plotly = await this.plotly;
    const address = await plotly.toImage(this.plot, { format: "svg", width, height });
    return decodeURIComponent(address.slice(address.indexOf(",") + 1));
  }
}
