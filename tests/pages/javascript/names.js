const PACKAGE = new URL("../../../src/circlet/", import.meta.url);

/** `circlet/MODULE` is one of the explorer, `circlet/COLLECTION/MODULE` one of a collection. */
export function resolve(specifier, context, next) {
  const [first, ...path] = specifier.split("/");
  if (first !== "circlet") return next(specifier, context);
  const [name, collection] = path.reverse();
  const folder = collection ? `collections/${collection}/explorer` : "pages/explorer";
  const { href: url } = new URL(`${folder}/${name}.js`, PACKAGE);
  return { url, format: "module", shortCircuit: true };
}
