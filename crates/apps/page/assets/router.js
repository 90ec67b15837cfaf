// What a router says of itself, as tables. Names in it are those of other machines: they only ever become text.
import { el, put, table, whole } from "/dom.js";

const is_object = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const is_list = (value) => Array.isArray(value) && value.some(is_object);
const is_deep = (value) => is_list(value) || (is_object(value) && Object.values(value).some((inner) => typeof inner === "object" && inner !== null));

/// A key as a heading.
const words = (key) => key.replaceAll("_", " ");

/// A value in a cell.
function cell(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? whole(value) : String(value);
  if (Array.isArray(value)) return value.length ? value.map(cell).join(", ") : "–";
  if (is_object(value)) return Object.entries(value).map(([key, inner]) => `${words(key)} ${cell(inner)}`).join(", ");
  return String(value);
}

/// Objects as rows; each has a cell for each key that one of them has.
function rows_of(objects) {
  const keys = [...new Set(objects.flatMap(Object.keys))];
  const numbers = keys.flatMap((key, at) => (objects.every((one) => typeof (one[key] ?? 0) === "number") ? [at] : []));
  return table(null, keys.map(words), objects.map((one) => keys.map((key) => cell(one[key]))), numbers);
}

/// A value below a heading; what has parts of its own is a section with sections.
function section(title, value, level) {
  const heading = el(`h${Math.min(level, 6)}`, {}, title);
  if (is_list(value)) {
    if (!value.some((one) => Object.values(one).some(is_list))) return el("div", { class: "card" }, heading, rows_of(value));
    return el("div", {}, value.map((one, at) => section(`${title} ${cell(one.name ?? at + 1)}`, one, level)));
  }
  const [deep, flat] = [Object.entries(value).filter(([, inner]) => is_deep(inner)), Object.entries(value).filter(([, inner]) => !is_deep(inner))];
  const named = deep.length === 0 && flat.length > 0 && flat.every(([, inner]) => is_object(inner));
  const own = named ? rows_of(flat.map(([name, inner]) => ({ name, ...inner }))) : table(null, ["what", "value"], flat.map(([key, inner]) => [words(key), cell(inner)]));
  return el("div", { class: level > 2 || deep.length === 0 ? "card" : null }, heading, flat.length ? own : null,
    deep.map(([key, inner]) => section(words(key), inner, level + 1)));
}

export class Router {
  constructor(place) {
    this.place = place;
  }

  update(state) {
    const text = JSON.stringify(state);
    // What somebody has selected stays while nothing changes.
    if (text === this.text) return;
    this.text = text;
    put(this.place, section("Router", state, 2));
  }
}
