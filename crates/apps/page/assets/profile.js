// Where the time of packets goes, by line of the program and by table: samples of the machine code, taken when somebody asks.
import { ask, base, el, put, table } from "/dom.js";

/// Seconds of sampling.
const SECONDS = 2;
/// Samples below which shares are chance.
const FEW = 100;
/// Lines that are shown.
const LINES = 15;

export class Profile {
  constructor(context, show) {
    this.context = context;
    this.show = show;
    this.button = el("button", { type: "button", id: "profile", onclick: () => this.measure() }, `Profile ${SECONDS} seconds`);
    this.state = el("p", { role: "status", class: "hint" }, "What a packet costs, by line and by table: the kernel samples the workers 5,000 times a second meanwhile.");
    this.result = el("div");
    this.element = el("div", { class: "card" }, el("h2", {}, "Where the time goes"), el("div", { class: "row" }, this.button), this.state, this.result);
  }

  async measure() {
    this.button.disabled = true;
    put(this.state, "Sampling…");
    try {
      this.write(await ask("/api/profile", { tenant: this.context().tenant, seconds: SECONDS }));
    } catch (error) {
      put(this.result);
      put(this.state, el("span", { class: "wrong" }, error.message));
    }
    this.button.disabled = false;
  }

  write(profile) {
    const all = profile.ns_per_packet, ns = (value) => value.toFixed(1), share = (value) => `${(100 * value / all).toFixed(1)} %`;
    put(this.state, `${ns(all)} ns a packet; ${profile.packets.toLocaleString("en")} packets, ${profile.samples.toLocaleString("en")} samples in the program${profile.samples < FEW ? ": too few to tell; profile again, or under more traffic" : ""}`);
    const lines = profile.lines.slice(0, LINES).map((line) => [share(line.ns), ns(line.ns), ns(line.called_ns),
      el("button", { type: "button", class: "link mono", onclick: () => this.show([{ file: line.file, line: line.line }]) }, `${base(line.file)}:${line.line}  ${line.text}`)]);
    const rest = [["other lines", profile.lines.slice(LINES).reduce((sum, line) => sum + line.ns, 0)], ["code of no line", profile.no_line_ns], ["around the program", profile.around_ns]];
    rest.filter(([, value]) => value > 0).forEach(([what, value]) => lines.push([share(value), ns(value), "", what]));
    const tables = profile.tables.map((one) => [share(one.lookup_ns + one.actions_ns), ns(one.lookup_ns), ns(one.actions_ns), one.table]);
    put(this.result, table("Lines", ["share", "ns", "of these in calls", "line"], lines, [0, 1, 2]),
      tables.length ? table("Tables", ["share", "lookup, ns", "actions, ns", "table"], tables, [0, 1, 2]) : null);
  }
}
