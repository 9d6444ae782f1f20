// How names and numbers are written.

/** @type {(name: string) => string} */
export const inWords = (name) => name.replaceAll("_", " ");

/** A number with three digits, or all before its point; a dash for none. */
export function rounded(value) {
  if (typeof value !== "number") return value ?? "–";
  const size = Math.abs(value);
  return `${size > 100 && size < 1e9 ? Math.round(value) : Number(value.toPrecision(3))}`;
}
