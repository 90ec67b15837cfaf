// The playground: what somebody types is compiled and run by the server.
import { ask, el, notice, put, table } from "/dom.js";
import { Graphs } from "/program.js";
import { Steps } from "/steps.js";

const place = (id) => document.getElementById(id);
const FIELDS = { source: "program", entries: "entries", packets: "packets" };
const wrong = { source: new Set(), entries: new Set(), packets: new Set() };

/// Line numbers beside a text, with those of errors marked.
function number_lines(id) {
  const area = place(id), gutter = area.previousElementSibling;
  const count = area.value.split("\n").length;
  put(gutter, Array.from({ length: count }, (_, at) => el("div", { class: wrong[id].has(at + 1) ? "error" : null }, at + 1)));
  gutter.scrollTop = area.scrollTop;
}

/// Puts the cursor at a line and a column.
function go_to(id, line, column = 1) {
  const area = place(id), lines = area.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  area.focus();
  area.setSelectionRange(at, at);
  area.scrollTop = Math.max(0, (line - 6) * parseFloat(getComputedStyle(area).lineHeight));
}

function diagnostics(result) {
  const all = result.diagnostics.map((one) => el("div", { class: `diagnostic ${one.severity}` }, el("pre", {}, one.text),
    one.place?.file === "program.p4" ? el("button", { type: "button", onclick: () => go_to("source", one.place.line, one.place.column) }, `Go to line ${one.place.line}`) : null));
  const problems = (result.problems ?? []).map((one) => el("div", { class: "diagnostic error" }, el("pre", {}, one.where ? `${one.where}:${one.line}: ${one.message}` : one.message),
    one.where in FIELDS ? el("button", { type: "button", onclick: () => go_to(one.where, one.line) }, `Go to line ${one.line} of the ${one.where}`) : null));
  return [...all, ...problems];
}

/// What each engine makes of each packet, and whether they agree.
function engines(result) {
  const all = result.engines.filter((engine) => engine.packets);
  const sent = (packet) => packet.fault ?? (packet.sent.length ? packet.sent.map((one) => `port ${one.port}: ${one.bytes}`).join("\n") : "dropped");
  const rows = (all[0]?.packets ?? []).map((_, at) => {
    const texts = result.engines.map((engine) => engine.packets ? sent(engine.packets[at]) : "–");
    const agree = new Set(all.map((engine) => JSON.stringify(engine.packets[at]))).size < 2;
    return [String(at + 1), ...texts.map((text) => el("code", {}, text)), el("span", { class: agree ? "good" : "wrong" }, agree ? "yes" : "no")];
  });
  const summary = result.engines.map((engine) => {
    const failures = (engine.failures ?? []).map((one) => `${one.where}:${one.line}: ${one.message}`).join("\n");
    const passed = engine.packets && !failures;
    return [engine.name, el("span", { class: passed ? "good" : "wrong" }, engine.error ? "does not run it" : passed ? "as expected" : "not as expected"), String(engine.expected ?? "–"), engine.error ?? failures];
  });
  return [el("div", { class: "card" }, table("Expectations", ["engine", "result", "packets as expected", "why"], summary, [2])),
    el("div", { class: "card" }, table("Packets", ["packet", ...result.engines.map((engine) => engine.name), "agree"], rows, [0]))];
}

/// A packet's steps; several packets have a button each.
function trace(result) {
  const graphs = new Graphs(result.graphs, (node) => steps.source.show(node.places));
  const steps = new Steps(result.files, (places) => graphs.pass(places));
  const buttons = result.packets.map((packet, at) => el("button", { type: "button", onclick: () => show(at) }, `packet ${at + 1}${packet.sent.length ? ` → ${packet.sent.map((s) => s.port).join(", ")}` : ": dropped"}`));
  const show = (at) => {
    buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    steps.show(result.packets[at]);
  };
  show(0);
  return [el("div", { class: "row" }, buttons), el("div", { class: "card" }, steps.element), el("div", { class: "card" }, el("h2", {}, "Its way through the program"), graphs.element)];
}

/// Generated code; its parts lead to the lines that they were generated for.
function code({ name, blocks, error }) {
  if (error) return [el("p", { class: "wrong" }, error)];
  const shown = blocks.map((block) => el("span", { class: "block" },
    block.line ? el("a", { class: "c", href: "#", onclick: (event) => {
      event.preventDefault();
      shown.forEach((other, at) => other.classList.toggle("now", blocks[at].line === block.line));
      go_to("source", block.line);
    } }, `line ${block.line}\n`) : null, block.text));
  return [el("h2", {}, name), el("pre", { class: "code", tabindex: 0 }, shown)];
}

let open = null;

function show(result) {
  const found = diagnostics(result);
  const errors = result.diagnostics.filter((one) => one.severity === "error").length + (result.problems?.length ?? 0);
  const views = [];
  views.push(["Messages", () => found.length ? found : [el("p", { class: "good" }, "No errors, no warnings.")]]);
  if (result.packets?.length) views.push(["Trace", () => trace(result)]);
  if (result.graphs) views.push(["Graphs", () => {
    const graphs = new Graphs(result.graphs, (node) => node.places[0]?.file === "program.p4" && go_to("source", node.places[0].line));
    return [graphs.element];
  }]);
  if (result.engines) views.push(["Engines", () => engines(result)]);
  if (result.listing) views.push(["Code", () => code(result.listing)]);
  const tabs = views.map(([name], at) => el("button", { type: "button", role: "tab", id: `tab-${at}`, "aria-controls": "panel", onclick: () => choose(at, true) }, name === "Messages" && found.length ? `Messages (${found.length})` : name));
  const choose = (at, wanted) => {
    if (wanted) open = views[at][0];
    tabs.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === at));
      tab.tabIndex = other === at ? 0 : -1;
    });
    put(place("panel"), views[at][1]());
    place("panel").setAttribute("aria-labelledby", `tab-${at}`);
  };
  place("tabs").onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
    choose(at, true);
    tabs[at].focus();
  };
  put(place("tabs"), tabs);
  const again = views.findIndex(([name]) => name === open);
  choose(errors ? 0 : again >= 0 ? again : views.findIndex(([name]) => name === "Trace") >= 0 ? 1 : 0, false);
  for (const id of Object.keys(FIELDS)) wrong[id].clear();
  result.diagnostics.filter((one) => one.severity === "error" && one.place?.file === "program.p4").forEach((one) => wrong.source.add(one.place.line));
  result.problems?.filter((one) => one.where in FIELDS).forEach((one) => wrong[one.where].add(one.line));
  Object.keys(FIELDS).forEach(number_lines);
  return errors;
}

async function run() {
  const button = place("run"), status = place("state");
  if (button.disabled) return;
  button.disabled = true;
  put(status, "running");
  const listing = place("listing").value;
  try {
    const request = { listing };
    for (const [id, field] of Object.entries(FIELDS)) request[field] = place(id).value;
    const errors = show(await ask("/api/run", {}, request));
    put(status, errors ? `${errors} ${errors === 1 ? "error" : "errors"}` : "done");
    notice("");
  } catch (error) {
    notice(error instanceof TypeError ? "The server does not answer." : error.message);
    put(status, "failed");
  }
  button.disabled = false;
}

function load(example) {
  for (const [id, field] of Object.entries(FIELDS)) {
    place(id).value = example[field];
    wrong[id].clear();
    number_lines(id);
  }
}

async function start() {
  for (const id of Object.keys(FIELDS)) {
    place(id).addEventListener("input", () => number_lines(id));
    place(id).addEventListener("scroll", () => { place(id).previousElementSibling.scrollTop = place(id).scrollTop; });
  }
  place("run").addEventListener("click", run);
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  const about = await ask("/api/about");
  put(place("example"), about.examples.map((example, at) => el("option", { value: at }, example.name)));
  place("example").addEventListener("change", (event) => {
    load(about.examples[event.target.value]);
    run();
  });
  put(place("listing"), el("option", { value: "" }, "none"), about.listings.map((name) => el("option", { value: name }, name)));
  place("listing").addEventListener("change", () => {
    if (place("listing").value) open = "Code";
    run();
  });
  load(about.examples[0]);
  await run();
}

start().catch((error) => notice(error.message));
