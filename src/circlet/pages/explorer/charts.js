// Curves over the steps of a training and matrices, by Plotly. They are drawn once per run; while
// training is scrubbed only a line moves over them.
import { theme } from "circlet/draw";

const GAP = { l: 58, r: 12, t: 8, b: 40 };

/** Layout that all charts share, in the colours of the page. */
function look({ colour }) {
  const axis = {
    gridcolor: colour("grid"),
    linecolor: colour("line"),
    zeroline: false,
    ticks: "outside",
    tickcolor: colour("line"),
    mirror: true,
    exponentformat: "power",
  };
  return {
    axis,
    layout: {
      margin: GAP,
      font: { family: "system-ui, sans-serif", size: 11, color: colour("ink") },
      paper_bgcolor: colour("paper"),
      plot_bgcolor: colour("paper"),
      hoverlabel: { bgcolor: colour("paper"), font: { color: colour("ink") } },
      showlegend: false,
      hoverdistance: -1, // a click anywhere is one on the nearest curve
    },
  };
}

/** A chart, drawn by a promise of the library; over steps, `onStep` is called with the step that a reader clicks. */
export class Chart {
  constructor(holder, plotly, onStep) {
    Object.assign(this, { holder, plotly, onStep, queue: Promise.resolve() });
    holder.classList.add("chart");
    this.plot = document.createElement("div");
    // A touch scrolls the page; what of it is a click comes as one of the mouse.
    const keep = (event) => event.stopPropagation();
    this.plot.addEventListener("touchstart", keep, { capture: true, passive: true });
    this.line = document.createElement("div");
    this.line.className = "cursor";
    holder.replaceChildren(this.plot, this.line);
  }

  /**
   * Draw traces; `layout` is completed by the common look, `axes` are names of its axes. What the
   * reader has enlarged stays so as long as `uirevision` is the same.
   */
  show(traces, layout, axes = ["xaxis", "yaxis"]) {
    const common = look(theme());
    const whole = { ...common.layout, ...layout };
    for (const name of axes) whole[name] = { ...common.axis, ...layout[name] };
    const config = { displayModeBar: false, responsive: true, doubleClick: "reset" };
    const draw = async () => {
      const plotly = await this.plotly; // which may still be on its way
      await plotly.react(this.plot, traces, whole, config);
      // It may have been drawn before it had a place of its own; it may have none now.
      if (this.plot.offsetParent) await plotly.Plots.resize(this.plot);
      if (!this.listening) {
        this.listening = true;
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
    const { xaxis: axis, _size: size } = this.plot._fullLayout ?? {};
    const at = axis && this.onStep && step !== undefined ? axis.d2p(step) : NaN;
    this.line.hidden = !(at >= -0.5 && at <= axis?._length + 0.5);
    if (this.line.hidden) return;
    this.line.style.transform = `translateX(${axis._offset + at}px)`;
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
