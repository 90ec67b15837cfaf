// A plot of the last two minutes, with a legend and a table of its values.
import { el, put, short, svg, table } from "/dom.js";

const POINTS = 120;
const HEIGHT = 150, LEFT = 52, BOTTOM = 18, TOP = 8;
const ROWS = 20;

/// The lowest round number that is not below a value.
function round_up(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= value * 0.9999);
}

export class Plot {
  /// The axis reaches at least to `least`.
  constructor(title, unit, series, least = 0) {
    Object.assign(this, { title, unit, series, least, points: [] });
    this.picture = svg("svg", { role: "img" });
    this.legend = el("ul", { class: "legend" });
    this.data = el("details", { ontoggle: () => this.write() }, el("summary", {}, "Show the data"), el("div"));
    this.element = el("div", { class: "card plot" }, el("h2", {}, title, " ", el("span", { class: "hint" }, unit)), this.legend, this.picture, this.data);
    this.draw();
  }

  clear() {
    this.points = [];
    this.draw();
  }

  /// Adds a value of each series, at a time in milliseconds.
  push(time, values) {
    this.points.push({ time, values });
    if (this.points.length > POINTS) this.points.shift();
    this.draw();
  }

  draw() {
    // A hidden plot has no width. It is drawn again a second later.
    const width = this.picture.clientWidth || 600;
    this.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const most = Math.max(this.least, ...this.points.flatMap((point) => point.values.filter(Number.isFinite)));
    const top = round_up(most);
    const y = (value) => HEIGHT - BOTTOM - (Number.isFinite(value) ? value / top : 0) * (HEIGHT - BOTTOM - TOP);
    const last = this.points.at(-1)?.time ?? 0;
    const x = (time) => width - 6 - (last - time) / 1000 / (POINTS - 1) * (width - LEFT - 6);
    const line = (at) => this.points.map((point) => `${x(point.time).toFixed(1)},${y(point.values[at]).toFixed(1)}`).join(" ");
    const shown = this.points.filter((point) => x(point.time) >= LEFT - 1);
    const ground = HEIGHT - BOTTOM;
    const first = shown.length ? x(shown[0].time) : 0;
    put(this.picture,
      svg("title", {}, this.summary()),
      [0, 0.5, 1].map((part) => [
        svg("line", { class: "axis", x1: LEFT, x2: width - 6, y1: y(part * top), y2: y(part * top) }),
        svg("text", { x: LEFT - 6, y: y(part * top) + 4, "text-anchor": "end" }, short(part * top)),
      ]).flat(),
      [120, 60, 0].map((ago) => svg("text", { x: ago === 0 ? width - 6 : x(last - ago * 995), y: HEIGHT - 4, "text-anchor": ago === 0 ? "end" : "start" }, ago === 0 ? "now" : `−${ago} s`)),
      this.points.length > 1 ? svg("polygon", { class: "area s1", points: `${first.toFixed(1)},${ground} ${line(0)} ${width - 6},${ground}` }) : null,
      this.series.map((_, at) => svg("polyline", { class: `line s${at + 1}`, points: line(at) })));
    const now = this.points.at(-1)?.values ?? [];
    put(this.legend, this.series.map((name, at) => el("li", {},
      svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" }, svg("line", { class: `s${at + 1}`, x1: 0, x2: 22, y1: 4, y2: 4 })),
      `${name} `, el("b", {}, now.length ? short(now[at]) : "–"))));
    this.write();
  }

  summary() {
    const now = this.points.at(-1);
    const values = now ? this.series.map((name, at) => `${name} ${short(now.values[at])}`).join(", ") : "no data yet";
    return `${this.title} (${this.unit}): ${values}`;
  }

  /// Writes the table, if it is open.
  write() {
    if (!this.data.open) return;
    const rows = this.points.slice(-ROWS).reverse().map((point) => [new Date(point.time).toLocaleTimeString("en-GB"), ...point.values.map(short)]);
    put(this.data.lastChild, table(`${this.title}, ${this.unit}, the last ${ROWS} seconds`, ["time", ...this.series], rows, this.series.map((_, at) => at + 1)));
  }
}
