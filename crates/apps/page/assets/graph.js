// A graph of a parser or a control, whose nodes can be chosen and have counts.
import { el, percent, put, short, svg, table } from "/dom.js";

const LINE = 14, FONT = 11;

function shape(node) {
  const { x, y, width, height, kind } = node;
  if (kind === "condition") {
    const cut = 14, middle = y + height / 2;
    return svg("path", { class: "shape", d: `M${x} ${middle}L${x + cut} ${y}H${x + width - cut}L${x + width} ${middle}L${x + width - cut} ${y + height}H${x + cut}z` });
  }
  return svg("rect", { class: "shape", x, y, width, height, rx: kind === "terminal" ? height / 2 : 4 });
}

export class Graph {
  /// `choose` is called with a node that somebody chooses.
  constructor(graph, choose) {
    this.graph = graph;
    const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { class: "arrow", d: "M0 0L8 4L0 8z" }));
    this.nodes = graph.nodes.map((node) => this.node(node, choose));
    const picture = svg("svg", { width: Math.ceil(graph.width) + 40, height: Math.ceil(graph.height) + 10, viewBox: `0 0 ${Math.ceil(graph.width) + 40} ${Math.ceil(graph.height) + 10}`, "aria-label": `Graph of ${graph.title}` },
      svg("defs", {}, marker),
      graph.edges.map((edge) => svg("path", { class: "edge", d: edge.path, "marker-end": "url(#arrow)" })),
      this.nodes.map((node) => node.group),
      graph.edges.filter((edge) => edge.label).flatMap((edge) => {
        const lines = edge.label.split("\n");
        return lines.map((line, at) => svg("text", { class: "edge-label", x: edge.x, y: edge.y - (lines.length - 1) * 5 + at * 10 + 3 }, line));
      }));
    this.element = el("div", { class: "graph" }, picture);
    this.data = el("details", { ontoggle: () => this.write() }, el("summary", {}, "Show the counts as a table"), el("div"));
    this.data.hidden = true;
  }

  node(node, choose) {
    const middle = node.x + node.width / 2;
    const first = node.y + node.height / 2 - (node.lines.length - 1) * LINE / 2 + FONT * 0.35;
    const named = node.kind === "state" || node.kind === "table";
    const bar = svg("rect", { class: "bar", x: node.x, y: node.y + node.height + 3, width: 0, height: 4, rx: 2 });
    const back = svg("rect", { class: "bar-back", x: node.x, y: node.y + node.height + 3, width: node.width, height: 4, rx: 2, visibility: "hidden" });
    const count = svg("text", { class: "count", x: node.x + 2, y: node.y + node.height + 17 });
    const group = svg("g", { class: `node ${node.kind}`, tabindex: node.places.length ? 0 : null, role: node.places.length ? "button" : "img", "aria-label": `${node.kind} ${node.lines.join(", ")}` },
      shape(node),
      node.lines.map((line, at) => svg("text", { class: named && at === 0 ? "name" : null, x: middle, y: first + at * LINE, "text-anchor": "middle" }, line)),
      back, bar, count);
    const chosen = () => {
      this.nodes.forEach((other) => other.group.classList.toggle("chosen", other.group === group));
      choose(node);
    };
    if (node.places.length) {
      group.addEventListener("click", chosen);
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          chosen();
        }
      });
    }
    return { group, bar, back, count, node, share: null };
  }

  /// Shows what share of the packets passes each node; `rate` is packets a second, or null if it is not known.
  count(shares, rate) {
    this.rate = rate;
    this.data.hidden = !shares;
    this.nodes.forEach((shown, at) => {
      const counted = ["state", "table", "statements"].includes(shown.node.kind);
      const share = counted ? shares?.[at] : undefined;
      shown.share = share ?? null;
      const there = share !== undefined;
      shown.back.setAttribute("visibility", there ? "visible" : "hidden");
      shown.bar.setAttribute("width", there ? (share * shown.node.width).toFixed(1) : 0);
      const text = there ? `${percent(share)}${share > 0 && rate !== null ? ` · ${short(share * rate)}/s` : ""}` : "";
      if (shown.count.textContent !== text) {
        put(shown.count, text);
        shown.group.setAttribute("aria-label", `${shown.node.kind} ${shown.node.lines.join(", ")}${there ? `: ${text} of the packets` : ""}`);
      }
    });
    this.write();
  }

  /// Marks the nodes that have a line among these, `FILE:LINE`.
  pass(places) {
    for (const { group, node } of this.nodes) {
      group.classList.toggle("passed", node.places.some((place) => places.has(`${place.file}:${place.line}`)));
    }
  }

  write() {
    if (!this.data.open) return;
    const rows = this.nodes.filter((shown) => shown.share !== null).map((shown) => [shown.node.kind, shown.node.lines[0], percent(shown.share), this.rate === null ? "–" : short(shown.share * this.rate)]);
    put(this.data.lastChild, table(null, ["kind", "node", "share of packets", "packets/s"], rows, [2, 3]));
  }
}
