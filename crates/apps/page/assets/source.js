// The text of a program with marked lines.
import { base, el, put } from "/dom.js";

const KEYWORDS = new Set(("abstract action actions apply const control default default_action else entries enum error exit extern for header header_union if in inout " +
  "key match_kind out package parser pragma return select size state struct switch table this transition type typedef value_set break continue " +
  "accept reject exact lpm ternary range optional true false").split(" "));
const TYPES = new Set("bit bool int string tuple varbit void".split(" "));
const TOKEN = /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|("(?:\\.|[^"\\\n])*"?)|(#\w+|@\w+)|(\b\d[\w']*\b)|([A-Za-z_]\w*)/g;

/// The parts of a text: pairs of a class and a string.
function tokens(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push([null, text.slice(at, match.index)]);
    const [all, comment, string, directive, number, word] = match;
    const kind = comment ? "c" : string ? "s" : directive ? "k" : number ? "m" : KEYWORDS.has(word) ? "k" : TYPES.has(word) || word.endsWith("_t") ? "t" : null;
    parts.push([kind, all]);
    at = match.index + all.length;
  }
  if (at < text.length) parts.push([null, text.slice(at)]);
  return parts;
}

/// Each line as a list of nodes.
function lines(text) {
  const all = [[]];
  for (const [kind, part] of tokens(text)) {
    part.split("\n").forEach((piece, at) => {
      if (at > 0) all.push([]);
      if (piece) all.at(-1).push(kind ? el("span", { class: kind }, piece) : piece);
    });
  }
  return all;
}

export class Source {
  /// Files have a `name` and a `text`; the last one is shown first, as it includes the others.
  constructor(files) {
    this.files = files;
    this.seen = new Set();
    this.select = el("select", { "aria-label": "File", onchange: () => this.open(Number(this.select.value)) },
      files.map((file, at) => el("option", { value: at }, base(file.name))));
    this.text = el("div", { class: "source", tabindex: 0, role: "region", "aria-label": "Source text" });
    this.element = el("div", {}, el("div", { class: "row middle" }, el("h2", {}, "Source"), this.select), this.text);
    const main = files.findIndex((file) => !file.name.startsWith("<"));
    if (files.length) this.open(Math.max(main, 0));
  }

  open(at) {
    if (this.at === at) return;
    this.at = at;
    this.select.value = at;
    this.rows = lines(this.files[at].text).map((parts, number) => el("div", { class: "l" }, el("i", {}, number + 1), el("span", {}, parts)));
    put(this.text, this.rows);
    this.mark();
  }

  /// Marks the lines that a packet passes, `FILE:LINE`.
  pass(places) {
    this.seen = places;
    this.mark();
  }

  mark() {
    const name = this.files[this.at]?.name;
    this.rows?.forEach((row, at) => row.classList.toggle("seen", this.seen.has(`${name}:${at + 1}`)));
  }

  /// Shows lines; the first of them is scrolled to.
  show(places) {
    const first = places[0];
    const at = first ? this.files.findIndex((file) => file.name === first.file) : -1;
    this.rows?.forEach((row) => row.classList.remove("now"));
    if (at < 0) return;
    this.open(at);
    const there = places.filter((place) => place.file === first.file).map((place) => this.rows[place.line - 1]).filter(Boolean);
    there.forEach((row) => row.classList.add("now"));
    const row = there[0];
    if (row) this.text.scrollTop = row.offsetTop - this.text.offsetTop - this.text.clientHeight / 2;
  }
}
