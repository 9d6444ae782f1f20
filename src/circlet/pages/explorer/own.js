// Results of a reader: logs of circlet, as points with their runs.
import { arrived, Series, unpackText } from "circlet/catalogue";
import { SHARE } from "circlet/curves";
import { grouped, range, sum } from "circlet/numbers";
import { inWords } from "circlet/words";

const KINDS = ["runs", "curves", "signals", "embeddings", "parameters"]; // logs that are shown
const GIVEN = ["seed", "step", "steps", "status", "seconds", "device", "dtype", "products"];
const isMetric = (name) => !GIVEN.includes(name) && !name.endsWith("_seed");
export const PANELS = { embedding: "embeddings", signals: "signals", losses: "curves" };

let library; // a promise of what reads Parquet
function parquet() {
  const load = async () => {
    const script = await unpackText(await arrived("parquet"));
    return import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  };
  return (library ??= load());
}

/** A file as the library reads it, part by part. */
const parts = (file) => ({
  byteLength: file.size,
  slice: (start, end) => file.slice(start, end).arrayBuffer(),
});

/** What a file says that made it, and the columns of its rows; none if it is no log of circlet. */
async function look(file) {
  const { parquetMetadataAsync } = await parquet();
  try {
    const metadata = await parquetMetadataAsync(parts(file));
    const entry = metadata.key_value_metadata?.find(({ key }) => key === "circlet");
    const made = JSON.parse(entry?.value ?? "{}");
    return made.kind && made.keys ? { file, metadata, ...made } : undefined;
  } catch {
    return undefined;
  }
}

/** The columns of a log, by name: a value for each of its rows. */
async function read({ file, metadata }) {
  const { decompress, parquetRead } = await parquet();
  const columns = {};
  await parquetRead({
    file: parts(file),
    metadata,
    compressors: { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) },
    onChunk({ columnName, columnData, rowStart }) {
      columns[columnName] ??= new Array(Number(metadata.num_rows));
      columnData.forEach((value, i) => {
        columns[columnName][rowStart + i] = typeof value === "bigint" ? Number(value) : value;
      });
    },
  });
  return columns;
}

/**
 * How rows of a log become arrays: of row i the name of its array, its values, and their shape;
 * `order`: rows of one step follow one another by this column.
 */
const ROWS = {
  curves: (columns, metrics) => ({
    values: (i) => metrics.map(({ name }) => columns[name]?.[i] ?? NaN),
    shape: () => [metrics.length],
  }),
  signals: ({ signal }) => ({
    values: (i) => [signal[i]],
    shape: () => [],
    order: "frequency",
  }),
  parameters: ({ name, values, shape }) => ({
    name: (i) => name[i],
    values: (i) => values[i],
    shape: (i) => shape[i],
  }),
  embeddings: ({ vector }) => ({
    name: () => "embedding",
    values: (i) => vector[i],
    shape: (i) => [vector[i].length],
    order: "token",
  }),
};

/** Rows of a log as arrays of its runs: for each seed, Series by name. */
export function seriesOf(kind, columns, metrics) {
  const { name = () => kind, values, shape, order } = ROWS[kind](columns, metrics);
  const key = (i) => (order ? columns[order][i] : 0);
  const rows = range(columns.step?.length ?? 0);
  rows.sort((a, b) => columns.step[a] - columns.step[b] || key(a) - key(b));
  const seriesIn = (own) => {
    const steps = [...new Set(own.map((i) => columns.step[i]))];
    const count = order ? [own.length / steps.length] : [];
    const numbers = own.flatMap((i) => [...values(i)]);
    return new Series(steps, [...count, ...shape(own[0])], Float32Array.from(numbers));
  };
  const ofSeed = (own) => [...grouped(own, name)].map(([array, some]) => [array, seriesIn(some)]);
  const seeds = [...grouped(rows, (i) => columns.seed[i])];
  return new Map(seeds.map(([seed, own]) => [seed, Object.fromEntries(ofSeed(own))]));
}

/** The arrays of the runs of a block, by seed, from its logs by kind. */
async function arraysIn(logs, metrics) {
  const found = new Map();
  for (const kind of Object.keys(ROWS)) {
    const columns = logs[kind] ? await read(logs[kind]) : {};
    for (const [seed, arrays] of seriesOf(kind, columns, metrics)) {
      found.set(seed, { ...found.get(seed), ...arrays });
    }
  }
  return found;
}

/** The runs of a block as the list has them, and the arrays of each; its logs are read once. */
async function runsOf(logs, metrics) {
  const [{ seeds, keys }] = Object.values(logs);
  const [first, last] = seeds;
  const columns = logs.runs
    ? await read(logs.runs)
    : { seed: range(last - first + 1, (i) => first + i) };
  const measured = Object.keys(columns).filter(isMetric);
  let arrays;
  const once = () => (arrays ??= arraysIn(logs, metrics));
  return Array.from(columns.seed, (seed, i) => {
    /** @type {Run} */
    const run = {
      run_id: `yours/${keys.experiment}/${keys.point}/s${String(seed).padStart(5, "0")}`,
      seed,
      outcome: columns.status?.[i].replaceAll("_", " ") ?? "finished",
      shown: "training",
      ...Object.fromEntries(measured.map((name) => [name, columns[name][i]])),
    };
    return { run, read: async () => (await once()).get(seed) };
  });
}

/** A system as the page needs it, of what its logs have; `known` is what the page says of it. */
function systemOf(name, logs, known) {
  const columnsOf = (kind) => logs.find((log) => log.kind === kind)?.metadata.schema.slice(1) ?? [];
  const leaves = [...columnsOf("curves"), ...columnsOf("runs")].filter((one) => !one.num_children);
  const measured = new Set(leaves.map((one) => one.name).filter(isMetric));
  const unitOf = (metric) => (metric.endsWith("accuracy") ? SHARE : "");
  const metrics = [...measured].map((one) => ({ name: one, meaning: "", unit: unitOf(one) }));
  const kinds = logs.map(({ kind }) => kind);
  return {
    short: "",
    introduction: `${name}: your own results.`,
    terms: {},
    columns: Object.fromEntries(metrics.map((one) => [one.name, inWords(one.name)])),
    metrics,
    panels: Object.keys(PANELS).filter((panel) => kinds.includes(PANELS[panel])),
    signals: kinds.includes("signals"),
    coloured: "",
    opens_with: "",
    ...known,
    outcome: "status",
    outcomes: "",
  };
}

/** What differs between the points of an experiment, with its values. */
export function sweptIn(points) {
  return Object.keys(points[0].parameters).flatMap((name) => {
    const values = [...new Set(points.map((point) => point.parameters[name]))];
    if (values.length < 2) return [];
    values.sort((a, b) => Number(a > b) - Number(a < b));
    return [{ name, values: values.map(String), words: typeof values[0] !== "number" }];
  });
}

/** The mean of every metric over the runs of a point that have it, as estimates of a catalogue. */
function meansOf(runs, metrics) {
  const means = metrics.map(({ name }) => {
    const values = runs.map((run) => run[name]).filter(Number.isFinite);
    return [name, [sum(values) / values.length, null, null, values.length]];
  });
  return Object.fromEntries(means.filter(([, [, , , count]]) => count));
}

/** A point, of its logs. @returns {Promise<Point>} */
async function pointOf(logs, system, metrics) {
  const [{ keys, parameters, spec }] = logs;
  const blocks = [...grouped(logs, ({ seeds }) => `${seeds}`).values()];
  const every = blocks.map((own) => Object.fromEntries(own.map((log) => [log.kind, log])));
  const found = (await Promise.all(every.map((block) => runsOf(block, metrics)))).flat();
  const readers = new Map(found.map(({ run, read: own }) => [run.seed, own]));
  const runs = found.map(({ run }) => run).sort((a, b) => a.seed - b.seed);
  const counts = [...grouped(runs, ({ outcome }) => outcome)];
  return {
    experiment: `your ${keys.experiment}`,
    system,
    name: keys.point,
    parameters,
    steps: spec.steps,
    planned: runs.length,
    unlisted: 0,
    seeds: spec.seeds,
    estimates: meansOf(runs, metrics),
    outcomes: counts.map(([outcome, same]) => [outcome, same.length]),
    runs,
    arraysOf: ({ seed }) => readers.get(seed)(),
  };
}

/** What an experiment sweeps; its points get their places among the values, and are put in order. */
function experimentOf(points, metrics) {
  const swept = sweptIn(points);
  for (const point of points) {
    point.at = swept.map(({ name, values }) => values.indexOf(String(point.parameters[name])));
  }
  points.sort((a, b) => {
    const differs = a.at.findIndex((place, i) => place !== b.at[i]);
    return differs < 0 ? 0 : a.at[differs] - b.at[differs];
  });
  const labelled = metrics.map(({ name, unit }) => {
    return [name, { label: inWords(name), most: unit === SHARE ? 1 : null }];
  });
  // The last metric colours the points at first: mostly the one by which a training is judged.
  return { swept, outcomes: Object.fromEntries(labelled.reverse()) };
}

/**
 * The logs among some files as results, whose names say that they are the reader's; `systems` are
 * those that the page knows. Throws a sentence if there is nothing to show.
 * @returns {Promise<Results>}
 */
export async function resultsIn(files, systems) {
  const seen = await Promise.all(files.filter(({ name }) => name.endsWith(".parquet")).map(look));
  const logs = seen.filter((log) => log && KINDS.includes(log.kind));
  if (!logs.length) {
    const what = files.length === 1 ? `“${files[0].name}” is not a log` : "There is no log";
    const how = "drop the folder “logs” of your results, or Parquet files in it";
    throw new Error(`${what} of circlet: ${how}`);
  }
  const found = { points: [], systems: {}, experiments: {} };
  for (const [name, own] of grouped(logs, ({ keys }) => keys.system)) {
    const system = systemOf(name, own, systems[name]);
    found.systems[`your ${name}`] = system;
    for (const one of grouped(own, ({ keys }) => `${keys.experiment}\n${keys.point}`).values()) {
      found.points.push(await pointOf(one, `your ${name}`, system.metrics));
    }
  }
  const byExperiment = grouped(found.points, ({ experiment }) => experiment);
  for (const [name, points] of byExperiment) {
    found.experiments[name] = experimentOf(points, found.systems[points[0].system].metrics);
  }
  return { ...found, points: [...byExperiment.values()].flat() };
}
