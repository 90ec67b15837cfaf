// A packet step by step: what happened, its bytes, the lines of the program.
import { base, el, put } from "/dom.js";
import { Source } from "/source.js";

/// What an event is, in words.
function words(event) {
  switch (event.event) {
    case "enter": return [event.block.replaceAll("_", " "), ""];
    case "state": return ["state", event.state];
    case "transition": return ["transition", `${event.keys.length ? `${event.keys.join(", ")} → ` : ""}${event.to}`];
    case "extract": return ["extract", `${event.header}: ${event.length} bytes from byte ${event.offset}`];
    case "parser_error": return ["parser error", event.error];
    case "assign": return ["assign", `${event.field} = ${event.value}${event.was === event.value ? "" : `, was ${event.was}`}`];
    case "validity": return [event.valid ? "set valid" : "set invalid", event.header];
    case "table": {
      const keys = event.keys.map((key) => `${key.name} = ${key.value}${key.entry ? ` (${key.match} ${key.entry})` : ""}`).join(", ");
      const parameters = Object.entries(event.parameters).map(([name, value]) => `${name} = ${value}`).join(", ");
      return [event.hit ? "hit" : "miss", `${event.table}: ${keys}${keys ? " → " : ""}${event.action}(${parameters})`];
    }
    case "extern": return ["extern", `${event.object ? `${event.object}.` : ""}${event.method}${event.arguments ? `(${event.arguments.join(", ")})` : ""}`];
    case "log": return ["log", event.message];
    case "exit": return ["exit", ""];
    case "emit": return ["emit", event.header];
    case "decision": return ["decision", decision(event)];
    default: return [event.event, ""];
  }
}

function decision(event) {
  switch (event.to) {
    case "egress": return `to egress for port ${event.port}`;
    case "multicast": return `${event.copies} copies for multicast group ${event.group}`;
    case "drop": return `dropped: ${event.reason.replaceAll("_", " ")} ${event.port ?? ""}`;
    case "clone": return `a clone from ${event.from}, session ${event.session}`;
    case "port": return `sent to port ${event.port}, ${event.length} bytes`;
    case "digest": return "a digest for the control plane";
    default: return event.to;
  }
}

/// The events of all passes of a packet, in order.
export function events(packet) {
  const all = [];
  packet.passes.forEach((pass, number) => {
    if (number > 0) all.push({ event: "enter", block: `pass ${number + 1}` });
    all.push(...pass.events);
    pass.copies.forEach((copy) => all.push(...copy.events));
  });
  return all;
}

/// Lines that a packet passes, as `FILE:LINE`.
export function places(packet) {
  return new Set(events(packet).filter((event) => event.line).map((event) => `${event.file}:${event.line}`));
}

function pairs(hex) {
  return hex.match(/../g) ?? [];
}

export class Steps {
  /// `passed` is called with the lines of each packet that is shown.
  constructor(files, passed = () => {}) {
    this.source = new Source(files);
    this.passed = passed;
    this.summary = el("p", {});
    this.received = el("div", { class: "bytes", "aria-label": "Bytes of the packet" });
    this.list = el("ul", { class: "steps", role: "listbox", tabindex: 0, "aria-label": "Steps", onkeydown: (event) => this.key(event) });
    this.sent = el("div", {});
    this.previous = el("button", { type: "button", onclick: () => this.choose(this.at - 1) }, "◀ Previous");
    this.next = el("button", { type: "button", onclick: () => this.choose(this.at + 1) }, "Next ▶");
    this.element = el("div", { class: "split" },
      el("div", {}, this.summary, this.received, el("div", { class: "row middle" }, el("h2", {}, "Steps"), this.previous, this.next), this.list, this.sent),
      this.source.element);
  }

  show(packet) {
    this.packet = packet;
    this.events = events(packet);
    const bytes = pairs(packet.bytes);
    put(this.summary, `${bytes.length} bytes at port ${packet.port}`,
      packet.fault ? el("span", { class: "wrong" }, ` · ${packet.fault}`) : null,
      packet.otherwise ? el("span", { class: "warn" }, ` · the switch itself ${packet.otherwise}: its state was another when the packet came`) : null,
      packet.truncated ? el("span", { class: "warn" }, " · the first steps only") : null);
    this.bytes = bytes.map((byte) => el("span", {}, byte));
    put(this.received, this.bytes.flatMap((span, at) => at % 4 === 3 ? [span, " "] : [span]));
    this.items = this.events.map((event, at) => {
      const [kind, text] = words(event);
      return el("li", { role: "option", id: `step-${at}`, "aria-selected": "false", class: event.event === "enter" ? "enter" : null, onclick: () => this.choose(at) },
        el("span", { class: "kind" }, kind), el("span", {}, text), el("span", { class: "at" }, event.line ? `${base(event.file)}:${event.line}` : ""));
    });
    put(this.list, this.items);
    put(this.sent, el("h3", {}, packet.sent.length ? "Sent" : "Nothing was sent"), packet.sent.map((sent) => this.copy(sent, bytes)));
    const passed = places(packet);
    this.source.pass(passed);
    this.passed(passed);
    this.at = -1;
    this.choose(0);
  }

  copy(sent, received) {
    const bytes = pairs(sent.bytes);
    const shown = bytes.flatMap((byte, at) => [el("span", { class: bytes.length === received.length && received[at] !== byte ? "changed" : null }, byte), at % 4 === 3 ? " " : ""]);
    return el("div", {}, el("div", { class: "hint" }, `port ${sent.port}: ${sent.change}`), el("div", { class: "bytes" }, shown));
  }

  choose(at) {
    if (!this.items?.length) return;
    at = Math.max(0, Math.min(at, this.items.length - 1));
    this.items[this.at]?.setAttribute("aria-selected", "false");
    this.at = at;
    const item = this.items[at], event = this.events[at];
    item.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", item.id);
    const top = item.offsetTop - this.list.offsetTop;
    if (top < this.list.scrollTop || top + item.offsetHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top - this.list.clientHeight / 3;
    this.previous.disabled = at === 0;
    this.next.disabled = at === this.items.length - 1;
    // What has no line of its own is shown where the next step is.
    const placed = event.line ? event : this.events.slice(at).find((later) => later.line);
    this.source.show(placed ? [placed] : []);
    const extract = event.event === "extract" ? event : null;
    this.bytes.forEach((span, byte) => span.classList.toggle("on", extract !== null && byte >= extract.offset && byte < extract.offset + extract.length));
  }

  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.choose(this.at + steps[event.key]);
  }
}
