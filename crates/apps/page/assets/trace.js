// Follows the next packets that meet conditions.
import { ask, el, put } from "/dom.js";
import { Graphs } from "/program.js";
import { Steps } from "/steps.js";

/// How long one request waits for packets, in seconds. Then another one goes on.
const WAIT = 4;

export class Trace {
  constructor(place, context) {
    this.context = context;
    this.port = el("input", { size: 6, inputmode: "numeric", placeholder: "any" });
    this.where = el("input", { size: 40, list: "fields", placeholder: "FIELD=VALUE …", class: "mono" });
    this.fields = el("datalist", { id: "fields" });
    this.number = el("input", { size: 4, value: 1, inputmode: "numeric" });
    this.start = el("button", { class: "primary", id: "follow" }, "Trace");
    this.stop = el("button", { type: "button", hidden: true, onclick: () => { this.wanted = 0; } }, "Stop");
    this.state = el("p", { role: "status", class: "hint" }, "The switch goes on forwarding: copies of its packets are run again, step by step, with the same tables.");
    this.chosen = el("div", { class: "row" });
    this.result = el("div", { hidden: true });
    put(place, el("div", { class: "card" }, el("h2", {}, "The next packets that match"), el("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      this.follow();
    } }, el("label", { class: "stack" }, "port", this.port), el("label", { class: "stack" }, "header fields, such as ipv4.dst=10.0.0.0/8", this.where), this.fields,
    el("label", { class: "stack" }, "packets (at most 16)", this.number), this.start, this.stop), this.state, this.chosen), this.result);
  }

  load(program) {
    put(this.fields, program.fields.map((field) => el("option", { value: `${field}=` })));
    this.graphs = new Graphs(program.graphs, (node) => this.steps.source.show(node.places));
    this.steps = new Steps(program.files, (places) => this.graphs.pass(places));
    put(this.result, el("div", { class: "card" }, this.steps.element), el("div", { class: "card" }, el("h2", {}, "Its way through the program"), this.graphs.element));
    this.result.hidden = true;
    put(this.chosen);
    this.wanted = 0;
  }

  async follow() {
    const { tenant } = this.context();
    const found = [];
    let looked_at = 0;
    this.wanted = Math.max(1, Math.min(16, Number(this.number.value) || 1));
    this.start.disabled = true;
    this.stop.hidden = false;
    put(this.state, "Waiting for packets…");
    try {
      while (found.length < this.wanted) {
        const answer = await ask("/api/trace", { tenant, port: this.port.value.trim(), where: this.where.value, packets: this.wanted - found.length, seconds: WAIT });
        found.push(...answer.packets);
        looked_at += answer.looked_at + answer.not_looked_at;
        if (found.length && answer.packets.length) this.write(found);
        put(this.state, `${found.length} of ${this.wanted} packets; ${looked_at} went by${found.length < this.wanted ? "; waiting…" : ""}`);
      }
      put(this.state, `${found.length} ${found.length === 1 ? "packet" : "packets"} of ${looked_at} that went by`);
    } catch (error) {
      put(this.state, el("span", { class: "wrong" }, error.message));
    }
    this.start.disabled = false;
    this.stop.hidden = true;
  }

  write(packets) {
    const buttons = packets.map((packet, at) => el("button", { type: "button", "aria-pressed": String(at === 0), onclick: () => show(at) }, `packet ${at + 1}: port ${packet.port}${packet.sent.length ? ` → ${packet.sent.map((s) => s.port).join(", ")}` : ", dropped"}`));
    const show = (at) => {
      buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
      this.result.hidden = false;
      this.steps.show(packets[at]);
    };
    put(this.chosen, buttons);
    show(0);
  }
}
