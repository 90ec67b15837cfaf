// Makes elements, asks the server, formats numbers. Text only ever becomes text nodes and attributes.

/// An element with attributes and children; text among them becomes text nodes. `on…` attributes are listeners.
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/// Replaces the children of an element.
export function put(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child != null && child !== false));
}

/// Asks the server. Throws an error with the server's reason.
export async function ask(path, parameters = {}, body = undefined, token = null) {
  const query = new URLSearchParams(parameters).toString();
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  };
  const response = await fetch(query ? `${path}?${query}` : path, options);
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Error(`the server's answer cannot be read (status ${response.status})`);
  }
  if (!response.ok) throw new Error(answer.error ?? `status ${response.status}`);
  return answer;
}

const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/// A number with three digits and a unit's prefix.
export function short(value) {
  if (!Number.isFinite(value)) return "–";
  for (const [size, letter] of UNITS) {
    if (value >= size * 0.9995) return `${(value / size).toPrecision(3)} ${letter}`;
  }
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toPrecision(2);
}

/// A whole number with separators.
export function whole(value) {
  return Math.round(value).toLocaleString("en");
}

export function percent(share) {
  const value = share * 100;
  return value > 0 && value < 0.95 ? "<1 %" : `${Math.round(value)} %`;
}

/// A table with headings; cells are text or elements. `numbers` are the places of columns of numbers.
export function table(caption, headings, rows, numbers = []) {
  const kind = (at) => ({ class: numbers.includes(at) ? "n" : null });
  return el("div", { class: "scroll" }, el("table", {},
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, headings.map((heading, at) => el("th", { ...kind(at), scope: "col" }, heading)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", kind(at), cell)))))));
}

/// The last part of a path.
export function base(path) {
  return path.split("/").pop();
}

/// Shows a message, or hides it.
export function notice(text) {
  const place = document.getElementById("notice");
  place.hidden = !text;
  place.textContent = text ?? "";
}
