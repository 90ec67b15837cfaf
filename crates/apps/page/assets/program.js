// The graphs of a program, with live counts, beside its text.
import { el, put } from "/dom.js";
import { Graph } from "/graph.js";
import { Profile } from "/profile.js";
import { Source } from "/source.js";

/// Graphs of which one is shown at a time.
export class Graphs {
  constructor(graphs, choose) {
    let first = 0;
    this.all = graphs.map((graph) => {
      const one = { graph, first, shown: new Graph(graph, choose) };
      first += graph.nodes.length;
      return one;
    });
    this.buttons = this.all.map((one, at) => el("button", { type: "button", "aria-pressed": "false", onclick: () => this.open(at) }, one.graph.name.replaceAll("_", " ")));
    this.place = el("div");
    this.element = el("div", {}, el("div", { class: "row" }, this.buttons), this.place);
    if (this.all.length) this.open(Math.max(0, this.all.findIndex((one) => one.graph.name === "ingress")));
  }

  open(at) {
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    const { graph, shown } = this.all[at];
    put(this.place, el("h3", {}, graph.title), shown.element, shown.data);
    // The beginning of a wide graph is in its middle.
    shown.element.scrollLeft = (shown.element.scrollWidth - shown.element.clientWidth) / 2;
  }

  count(shares, rate) {
    this.all.forEach(({ graph, first, shown }) => shown.count(shares.length ? shares.slice(first, first + graph.nodes.length) : undefined, rate));
  }

  pass(places) {
    this.all.forEach(({ shown }) => shown.pass(places));
  }
}

export class Program {
  constructor(place, context) {
    this.place = place;
    this.context = context;
  }

  load(program) {
    this.source = new Source(program.files);
    this.graphs = new Graphs(program.graphs, (node) => this.source.show(node.places));
    this.hint = el("p", { class: "hint", role: "note" });
    this.before = null;
    put(this.place, el("div", { class: "split" }, el("div", { class: "card" }, el("h2", {}, "Graphs"), this.graphs.element, this.hint), el("div", { class: "card" }, this.source.element)),
      new Profile(this.context, (places) => this.source.show(places)).element);
  }

  update(live) {
    if (!this.graphs || !live.nodes) return;
    const before = this.before;
    this.before = live;
    const rate = before ? Math.max(0, live.tenant.packets - before.tenant.packets) / ((live.time_ms - before.time_ms) / 1000) : null;
    const { packets, shares, problem } = live.nodes;
    this.graphs.count(packets > 0 ? shares : [], rate);
    const text = problem ? `No counts: ${problem}` :
      packets > 0 ? "Counts of nodes are estimates: up to 64 packets of each second are looked at. Choose a node to see its lines." : "No packets were seen in the last seconds. Choose a node to see its lines.";
    if (this.hint.textContent !== text) put(this.hint, text);
  }
}
