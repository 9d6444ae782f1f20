// Results of a reader, dropped into the page or picked: logs of circlet, as points with their runs.
import { arrived, Series, unpackText } from "circlet/catalogue";
import { inWords, SHARE } from "circlet/curves";

const KINDS = ["runs", "curves", "signals", "embeddings", "parameters"]; // logs that are shown
const GIVEN = ["seed", "steps", "status", "seconds", "device", "dtype", "products"]; // of every run
const isMetric = (name) => !GIVEN.includes(name) && !name.endsWith("_seed");
export const PANELS = { embedding: "embeddings", signals: "signals", losses: "curves" };

let library; // a promise of what reads Parquet
function parquet() {
  const load = async () => {
    const script = new Blob([await unpackText(await arrived("parquet"))], {
      type: "text/javascript",
    });
    return import(URL.createObjectURL(script));
  };
  return (library ??= load());
}

/** Items by what `key` gives of each, in their order. */
function grouped(items, key) {
  const found = new Map();
  for (const item of items) {
    if (!found.has(key(item))) found.set(key(item), []);
    found.get(key(item)).push(item);
  }
  return found;
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
    return made.kind && made.keys ? { file, metadata, made } : undefined;
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
 * Rows of a log as arrays of its runs: by seed, by name, Series. `nameOf`, `valuesOf` and `shapeOf`
 * are of a row; rows of one step that have the same name follow one another by `order`.
 */
function arraysOf(columns, { nameOf, valuesOf, shapeOf, order }) {
  const found = new Map();
  const rows = Array.from(columns.step ?? [], (_, i) => i);
  const key = (i) => (order ? columns[order][i] : 0);
  rows.sort((a, b) => columns.step[a] - columns.step[b] || key(a) - key(b));
  for (const i of rows) {
    const [seed, name, step] = [columns.seed[i], nameOf(i), columns.step[i]];
    if (!found.has(seed)) found.set(seed, {});
    const own = (found.get(seed)[name] ??= { steps: [], values: [], rows: 0, of: shapeOf(i) });
    if (own.steps.at(-1) !== step) own.steps.push(step);
    own.rows++;
    own.values.push(...valuesOf(i));
  }
  for (const arrays of found.values()) {
    for (const [name, { steps, values, rows, of }] of Object.entries(arrays)) {
      const shape = order ? [rows / steps.length, ...of] : of;
      arrays[name] = new Series(steps, shape, Float32Array.from(values));
    }
  }
  return found;
}

/** The arrays of the runs of a block, by seed. */
async function arraysOfBlock(logs, metrics) {
  const found = {};
  const add = async (kind, how) => {
    if (!logs[kind]) return;
    const columns = await read(logs[kind]);
    found[kind] = arraysOf(columns, how(columns));
  };
  await add("curves", (columns) => ({
    nameOf: () => "curves",
    valuesOf: (i) => metrics.map(({ name }) => columns[name]?.[i] ?? NaN),
    shapeOf: () => [metrics.length],
  }));
  await add("signals", (columns) => ({
    nameOf: () => "signals",
    valuesOf: (i) => [columns.signal[i]],
    shapeOf: () => [],
    order: "frequency",
  }));
  await add("parameters", (columns) => ({
    nameOf: (i) => columns.name[i],
    valuesOf: (i) => columns.values[i],
    shapeOf: (i) => columns.shape[i],
  }));
  await add("embeddings", (columns) => ({
    nameOf: () => "embedding",
    valuesOf: (i) => columns.vector[i],
    shapeOf: (i) => [columns.vector[i].length],
    order: "token",
  }));
  const seeds = Object.values(found).flatMap((arrays) => [...arrays.keys()]);
  const of = (seed) => Object.assign({}, ...Object.values(found).map((all) => all.get(seed) ?? {}));
  return new Map([...new Set(seeds)].map((seed) => [seed, of(seed)]));
}

/** The runs of a block as the list has them. */
async function runsOf(logs, { experiment, point }) {
  const [{ made }] = Object.values(logs);
  const [first, last] = made.seeds;
  const columns = logs.runs ? await read(logs.runs) : {};
  const seeds = columns.seed ?? Array.from({ length: last - first + 1 }, (_, i) => first + i);
  return Array.from(seeds, (seed, i) => {
    const measured = Object.keys(columns).filter(isMetric);
    return {
      run_id: `yours/${experiment}/${point}/s${String(seed).padStart(5, "0")}`,
      seed,
      outcome: columns.status?.[i].replaceAll("_", " ") ?? "finished",
      shown: "training",
      ...Object.fromEntries(measured.map((name) => [name, columns[name][i]])),
    };
  });
}

/** A system as the page needs it, of what its logs have; `known` is what the page says of it. */
function systemOf(name, logs, known) {
  const columns = (kind) => {
    const schema = logs.find((log) => log.made.kind === kind)?.metadata.schema ?? [];
    return schema
      .slice(1)
      .filter((one) => !one.num_children)
      .map((one) => one.name);
  };
  const measured = [...columns("curves"), ...columns("runs")].filter(
    (one) => isMetric(one) && one !== "step",
  );
  const metrics = [...new Set(measured)].map((one) => ({
    name: one,
    meaning: "",
    unit: one.endsWith("accuracy") ? SHARE : "",
  }));
  const has = (kind) => logs.some((log) => log.made.kind === kind);
  const generic = {
    short: "",
    introduction: `${name}: your own results.`,
    terms: {},
    columns: Object.fromEntries(metrics.map((one) => [one.name, inWords(one)])),
    metrics,
    panels: Object.keys(PANELS).filter((panel) => has(PANELS[panel])),
    signals: has("signals"),
    coloured: "",
    opens_with: "",
  };
  return { ...generic, ...known, outcome: "status", outcomes: "" };
}

/** What differs between the points of an experiment, with its values. */
function sweptIn(points) {
  const [first] = points;
  return Object.keys(first.parameters).flatMap((name) => {
    const values = [...new Set(points.map((point) => point.parameters[name]))];
    if (values.length < 2) return [];
    values.sort((a, b) => (a > b) - (a < b));
    return [{ name, values: values.map(String), words: typeof values[0] !== "number" }];
  });
}

/** The mean of every metric over the runs of a point that have it, as estimates of a catalogue. */
function meansOf(runs, metrics) {
  const found = {};
  for (const { name } of metrics) {
    const values = runs.map((run) => run[name]).filter(Number.isFinite);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    if (values.length) found[name] = [mean, null, null, values.length];
  }
  return found;
}

/**
 * The logs among some files as `points`, `systems` and `experiments` of a catalogue, whose names say
 * that they are the reader's; `systems` are those that the page knows. Points also have `arraysOf`,
 * which reads the arrays of a run. Throws a sentence if there is nothing to show.
 */
export async function resultsIn(files, systems) {
  const seen = await Promise.all(files.filter(({ name }) => name.endsWith(".parquet")).map(look));
  const logs = seen.filter((log) => log && KINDS.includes(log.made.kind));
  if (!logs.length) {
    const what = files.length === 1 ? `“${files[0].name}” is not a log` : "There is no log";
    throw new Error(
      `${what} of circlet: drop the folder “logs” of your results, or Parquet files in it`,
    );
  }
  const found = { points: [], systems: {}, experiments: {} };
  const byPoint = grouped(logs, ({ made: { keys } }) =>
    [keys.system, keys.experiment, keys.point].join("\n"),
  );
  for (const own of byPoint.values()) {
    const { keys, parameters, spec } = own[0].made;
    const system = `your ${keys.system}`;
    const ofSystem = logs.filter(({ made }) => made.keys.system === keys.system);
    found.systems[system] ??= systemOf(keys.system, ofSystem, systems[keys.system]);
    const { metrics } = found.systems[system];
    const blocks = [...grouped(own, ({ made }) => `${made.seeds}`).values()].map((every) =>
      Object.fromEntries(every.map((log) => [log.made.kind, log])),
    );
    const runs = [];
    const blockOf = new Map(); // of a seed, a function that reads its block once
    for (const block of blocks) {
      let arrays;
      const once = () => (arrays ??= arraysOfBlock(block, metrics));
      for (const run of await runsOf(block, keys)) {
        runs.push(run);
        blockOf.set(run.seed, once);
      }
    }
    const counts = grouped(runs, ({ outcome }) => outcome);
    found.points.push({
      experiment: `your ${keys.experiment}`,
      system,
      name: keys.point,
      parameters,
      steps: spec.steps,
      planned: runs.length,
      unlisted: 0,
      seeds: spec.seeds,
      estimates: meansOf(runs, metrics),
      outcomes: [...counts].map(([outcome, same]) => [outcome, same.length]),
      runs: runs.sort((a, b) => a.seed - b.seed),
      arraysOf: async ({ seed }) => (await blockOf.get(seed)()).get(seed),
    });
  }
  const byExperiment = grouped(found.points, ({ experiment }) => experiment);
  for (const [name, points] of byExperiment) {
    const swept = sweptIn(points);
    const outcomes = found.systems[points[0].system].metrics.map((metric) => [
      metric.name,
      { label: inWords(metric), most: metric.unit === SHARE ? 1 : null },
    ]);
    // The last metric colours the points at first: mostly the one by which a training is judged.
    found.experiments[name] = { swept, outcomes: Object.fromEntries(outcomes.reverse()) };
    for (const point of points) {
      point.at = swept.map((one) => one.values.indexOf(String(point.parameters[one.name])));
    }
    points.sort((a, b) => {
      const differs = a.at.findIndex((place, i) => place !== b.at[i]);
      return differs < 0 ? 0 : a.at[differs] - b.at[differs];
    });
  }
  found.points = [...byExperiment.values()].flat();
  return found;
}

/** The files below a handle of the file system, or below an entry, its elder. */
async function filesBelow(place) {
  if (place.kind === "file") return [await place.getFile()];
  if (place.isFile) return [await new Promise((done, failed) => place.file(done, failed))];
  const inside = [];
  if (place.kind) for await (const one of place.values()) inside.push(one);
  else {
    const reader = place.createReader();
    const some = () => new Promise((done, failed) => reader.readEntries(done, failed));
    // They come in parts of a hundred.
    for (let part = await some(); part.length; part = await some()) inside.push(...part);
  }
  return (await Promise.all(inside.map(filesBelow))).flat();
}

/** The files in what is dropped, those in its folders, too. */
async function filesIn({ items }) {
  // Chromium's entries cannot be read by a page that is a file itself, other browsers have no handles.
  const place = (item) => item.getAsFileSystemHandle?.() ?? item.webkitGetAsEntry();
  const places = await Promise.all([...items].map(place)); // of which all are asked for at once
  return (await Promise.all(places.filter(Boolean).map(filesBelow))).flat();
}

/** Call `opened` with a promise of the files that a reader drops on the page, or picks with inputs. */
export function onFiles(inputs, opened) {
  for (const input of inputs) {
    input.addEventListener("change", () => {
      opened(Promise.resolve([...input.files]));
      input.value = ""; // so that the same can be picked again
    });
  }
  const isFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
  const mark = (isOver) => document.documentElement.classList.toggle("dropping", isOver);
  addEventListener("dragover", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false));
  addEventListener("drop", (event) => {
    if (!isFiles(event)) return;
    event.preventDefault();
    mark(false);
    opened(filesIn(event.dataTransfer));
  });
}
