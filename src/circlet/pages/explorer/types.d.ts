// What modules of the explorer hand to each other, for `npm run check`; the page has nothing of it.

/** Places [x_0, y_0, x_1, y_1, ...], or a matrix row by row. */
type Numbers = ArrayLike<number>;
type Matrix = Float32Array | Float64Array;
type Arrays = Record<string, import("circlet/catalogue").Series>;
type Player = ReturnType<typeof import("circlet/controls").playerOf>;
type Board = import("circlet/board").Board;
type Scene = import("circlet/scene").Scene;

/** Left, right, bottom and top of what is drawn. */
type Box = number[];

/** A run of the catalogue; beside what is named here it has what its system measures. */
interface Run {
  run_id: string;
  seed: number;
  outcome: string;
  /** What of it is in the page. */
  shown: "training" | "end" | "outcome";
  frames?: number;
  moments?: { step: number; text: string }[];
}

interface Point {
  experiment: string;
  system: string;
  name: string;
  parameters: any;
  steps: number;
  steps_per_epoch?: number;
  planned: number;
  unlisted: number;
  /** Places of its values among those that are swept. */
  at: number[];
  seeds: Record<string, number>;
  /** By outcome: estimate, low, high, number of runs. */
  estimates: Record<string, number[]>;
  outcomes: [string, number][];
  runs: Run[];
  /** Among the points of the catalogue, which names its data. */
  place?: number;
}

interface Metric {
  name: string;
  meaning: string;
  unit: string;
}

interface System {
  short: string;
  outcomes: string;
  introduction: string;
  terms: Record<string, string>;
  /** Heading of the outcomes of its runs. */
  outcome: string;
  /** Columns of the list of runs, with their headings. */
  columns: Record<string, string>;
  metrics: Metric[];
  panels: string[];
  /** Whether the signals of its frequencies are logged. */
  signals: boolean;
  /** The column of runs that names the signals to be coloured. */
  coloured: string;
  opens_with: string;
}

interface Experiment {
  swept: { name: string; values: string[]; words: boolean }[];
  outcomes: Record<string, { label: string; most: number | null }>;
}

interface Stop {
  title: string;
  run: string;
  step: number;
  text: string;
  /** That it is about; none: the first of the system. */
  panels?: string[];
  /** Step to which it is played; none: the last. */
  until?: number;
}

/** What is in the page (__init__.py). */
interface Catalogue {
  points: Point[];
  systems: Record<string, System>;
  experiments: Record<string, Experiment>;
  tour: Stop[];
  collections: { name: string; prefix: string; data: any }[];
}

/** How embeddings and curves are seen. */
interface View {
  /** A frequency; 0 for the dimensions `x` and `y`; COMPONENTS for principal components. */
  plane: number;
  x: number;
  y: number;
  /** Whether the reader has chosen the plane. */
  chosen: boolean;
  /** Each step has its own scale, and whether the reader has chosen that. */
  fit: boolean;
  fitted: boolean;
  /** Steps are logarithmic. */
  log: boolean;
}

/** What an address names. */
interface Link {
  runId: string;
  /** The run that is kept beside it. */
  beside?: string;
  step?: number;
  view: View;
}

/** Columns and rows of data. */
type Table = [string[], any[][]];

interface Tools {
  /** A promise of the plotting library. */
  plotly: Promise<any>;
  goTo(step: number): void;
  /** Lights up a pair of numbers [a, b] in all panels; none puts it out. */
  light(pair?: number[]): void;
  /** What the collection's data.py gives. */
  data: any;
}

/** A panel of a run: collections export theirs by name as `panels`. */
interface PanelMaker {
  title: string;
  /** What it shows, in a sentence or two. */
  help?: string;
  make: MakePanel;
  data?: any;
}

type MakePanel = (holder: HTMLElement, tools: Tools) => Panel;

interface Panel {
  /** The array with whose logged steps it moves; without one it is a chart, over which a line moves. */
  source?: string;
  picture?: any;
  /** Why it is empty, or ""; by default whether its source is there. */
  missing?(scene: Scene): string;
  draw?(scene: Scene, step?: number, atRest?: boolean): void;
  table?(scene: Scene, step?: number): Table;
  note?(scene: Scene, step?: number): string;
  /** Words for the line above all panels, and the step that they are of. */
  reading?(scene: Scene, step: number, atRest: boolean): { words: string; step: number } | null;
  /** Marks what belongs to a pair of numbers [a, b], or to none. */
  light?(scene: Scene, step: number, pair?: number[]): void;
  /** Whether each step usually has its own scale. */
  fits?: boolean;
  /** Of its figure in the page. */
  id?: string;
}

/** What the buttons of a panel save; `redraw` draws what is there by then. */
interface PanelFile {
  name?: string;
  picture: any;
  draw?(): void;
  redraw?(step?: number): void;
  table(): Table;
  digits?: number;
}

interface Simulation {
  begin(settings: any): void;
  step(settings: any): void;
  show(settings: any): void;
  files(id: string): PanelFile;
}

/** What is seen, and what it is made of. */
interface State {
  catalogue: Catalogue;
  /** With runs, in the order in which they are offered. */
  points: Point[];
  view: View;
  /** Panels of the run that is looked at, of the one that is kept beside it, and of the tour. */
  boards: [Board, Board, Board];
  /** How runs are listed: sorted by a column, filtered by an outcome; the seed that is chosen. */
  list: { by: string; isDown: boolean; outcome: string; seed?: number };
  /** The outcome that colours the points. */
  colour: string;
  /** Stops, the one that is told of, the one that an address names, and the one that is drawn. */
  tour: { stops: Stop[]; stop?: Stop; wanted?: Stop; drawn?: Stop };
  player?: Player;
  /** What is chosen. */
  point?: Point;
  run?: Run;
  /** The run that is looked at; none if it cannot be shown. */
  scene?: Scene;
  /** Place of the step among those of the scene, and the one at which playing ends. */
  at: number;
  end?: number;
  /** Choices of a run so far, and the last that was shown. */
  asked: number;
  opened: number;
  /** A timer, until the picture is at rest. */
  resting?: any;
  /** The address that was read or written last, and the run in it. */
  address: string;
  addressed?: string;
  /** Tells the reader what is wrong, or "". */
  say(words: string): void;
}
