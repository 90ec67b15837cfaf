// Rates and latency as plots; ports, queues, drops and tenants as tables.
import { el, put, short, table, whole } from "/dom.js";
import { Plot } from "/plot.js";

const sum = (all, pick) => all.reduce((total, one) => total + pick(one), 0);

export class Overview {
  constructor(place) {
    this.packets = new Plot("Packets", "packets/s", ["received", "sent", "dropped"]);
    this.bits = new Plot("Throughput", "bit/s", ["received", "sent"]);
    this.time = new Plot("Time of a packet", "ns in each stage", ["program", "receive", "sort", "send"]);
    this.queues = new Plot("Queues", "packets waiting", ["all egress queues"], 10);
    this.plots = [this.packets, this.bits, this.time, this.queues];
    this.ports = el("div");
    this.drops = el("div");
    this.tenants = el("div", { class: "card", hidden: true });
    put(place, el("div", { class: "grid" }, this.plots.map((plot) => plot.element)),
      el("div", { class: "card", id: "ports" }, el("h2", {}, "Ports and queues"), this.ports), this.tenants,
      el("div", { class: "card", id: "drops" }, el("h2", {}, "What became of packets that were not sent"), this.drops));
  }

  reset() {
    this.before = null;
    this.plots.forEach((plot) => plot.clear());
  }

  update(live) {
    const before = this.before;
    this.before = live;
    const seconds = before ? (live.time_ms - before.time_ms) / 1000 : 0;
    if (before && seconds <= 0) return;
    const rate = (pick) => before ? Math.max(0, pick(live) - pick(before)) / seconds : 0;
    const dropped = (one) => sum(Object.values(one.tenant.drops), (n) => n);
    if (before) {
      this.packets.push(live.time_ms, [rate((l) => l.tenant.rx_packets), rate((l) => l.tenant.tx_packets), rate(dropped)]);
      this.bits.push(live.time_ms, [rate((l) => 8 * l.tenant.rx_bytes), rate((l) => 8 * l.tenant.tx_bytes)]);
      this.time.push(live.time_ms, ["program", "receive", "sort", "send"].map((name) => this.stage(name, before, live)));
      this.queues.push(live.time_ms, [sum(live.ports, (port) => port.queue_waiting)]);
    }
    this.write_ports(live, before, seconds);
    this.write_drops(live, before, seconds);
    this.write_tenants(live, before, seconds);
  }

  /// Nanoseconds of a packet in a stage, since the last time. What was not measured meanwhile is as before.
  stage(name, before, live) {
    if (name === "program") {
      const packets = live.tenant.packets - before.tenant.packets;
      return packets > 0 ? (live.tenant.busy_ns - before.tenant.busy_ns) / packets : 0;
    }
    const now = live.switch.stages.find((stage) => stage.name === name), then = before.switch.stages.find((stage) => stage.name === name);
    const packets = now.packets - then.packets;
    this.stages ??= {};
    if (packets > 0) this.stages[name] = (now.ns - then.ns) / packets;
    return live.tenant.packets > before.tenant.packets ? this.stages[name] ?? 0 : 0;
  }

  write_ports(live, before, seconds) {
    const rows = live.ports.map((port) => {
      const then = before?.ports.find((other) => other.number === port.number);
      const rate = (pick) => then ? short(Math.max(0, pick(port) - pick(then)) / seconds) : "–";
      return [String(port.number), port.name, rate((p) => p.rx_packets), rate((p) => 8 * p.rx_bytes), rate((p) => p.tx_packets), rate((p) => 8 * p.tx_bytes),
        whole(port.rx_packets), whole(port.tx_packets), whole(port.lost), whole(port.queue_waiting), whole(port.queue_longest), whole(port.queue_full)];
    });
    put(this.ports, table(null, ["port", "device", "in packets/s", "in bit/s", "out packets/s", "out bit/s", "packets in", "packets out", "lost", "queued", "longest queue", "queue full"],
      rows, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
  }

  write_drops(live, before, seconds) {
    const { drops, parser_errors: errors, punted } = live.tenant;
    const rate = (now, then) => before ? short(Math.max(0, now - (then ?? 0)) / seconds) : "–";
    const rows = Object.entries(drops).filter(([name, count]) => count > 0 || name === "by the program")
      .map(([name, count]) => [`dropped: ${name}`, whole(count), rate(count, before?.tenant.drops[name])]);
    rows.push(["to the control plane", whole(punted), rate(punted, before?.tenant.punted)]);
    Object.entries(errors).forEach(([name, count]) => rows.push([`parser error ${name}`, whole(count), rate(count, before?.tenant.parser_errors[name])]));
    put(this.drops, table(null, ["what", "packets", "packets/s"], rows, [1, 2]));
  }

  write_tenants(live, before, seconds) {
    this.tenants.hidden = live.tenants.length < 2;
    if (this.tenants.hidden) return;
    const busy = (tenant, then) => then ? `${((tenant.busy_ns - then.busy_ns) / seconds / 1e7).toFixed(1)} %` : "–";
    const rows = live.tenants.map((tenant) => {
      const then = before?.tenants.find((other) => other.name === tenant.name);
      const rate = (pick) => then ? short(Math.max(0, pick(tenant) - pick(then)) / seconds) : "–";
      return [tenant.name, rate((t) => t.rx_packets), rate((t) => t.tx_packets), rate((t) => 8 * t.rx_bytes), rate((t) => 8 * t.tx_bytes), busy(tenant, then), whole(tenant.rx_packets)];
    });
    put(this.tenants, el("h2", {}, "Tenants"), table(null, ["tenant", "in packets/s", "out packets/s", "in bit/s", "out bit/s", "of a CPU", "packets in"], rows, [1, 2, 3, 4, 5, 6]));
  }
}
