// Files that a reader drops on the page, or picks.

/** What a function with callbacks gives. */
const promised = (act) => new Promise((done, failed) => act(done, failed));

/** The files below a handle of the file system, or below an entry, its elder. */
async function filesBelow(place) {
  if (place.kind === "file") return [await place.getFile()];
  if (place.isFile) return [await promised((done, failed) => place.file(done, failed))];
  const inside = [];
  if (place.kind) for await (const one of place.values()) inside.push(one);
  else {
    const reader = place.createReader();
    const some = () => promised((done, failed) => reader.readEntries(done, failed));
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
  const mark = (isOver) => document.documentElement.classList.toggle("dropping", isOver);
  const onDrag = (kind, act) =>
    addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      mark(kind === "dragover");
      act?.(event.dataTransfer);
    });
  onDrag("dragover");
  onDrag("drop", (dropped) => opened(filesIn(dropped)));
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false));
}
