// Tables: search, pages, and changes if they are allowed.
import { ask, el, put, table as make_table, whole } from "/dom.js";

const COUNT = 50;
/// Tables with more entries are read again only when somebody asks.
const LARGE = 20000;

export class Tables {
  /// `context()` is the tenant's name, the number of its program, the token and whether writing is allowed.
  constructor(place, context) {
    Object.assign(this, { context, tables: [], from: 0, editing: null });
    this.list = el("ul", { class: "list" });
    this.title = el("h2");
    this.keys = el("div");
    this.search = el("input", { type: "search", id: "search", size: 30, oninput: () => this.searched() });
    this.entries = el("div", { id: "entries" });
    this.message = el("p", { role: "alert", id: "refusal" });
    this.done = el("p", { role: "status", class: "good" });
    this.form = el("div");
    this.pages = el("div", { class: "row middle" });
    this.default = el("div", { class: "row middle" });
    this.body = el("div", { class: "card", hidden: true }, this.title, this.keys, this.message, this.done, this.form,
      el("div", { class: "row" }, el("label", { class: "stack" }, "Search", this.search), this.pages), this.entries, this.default);
    this.why = el("p", { hidden: true });
    this.all = el("div", { class: "split narrow" }, el("div", { class: "card" }, el("h2", {}, "Tables"), this.list), this.body);
    put(place, this.why, this.all);
  }

  /// Shows why there are no tables, or the tables.
  hide(why) {
    put(this.why, why);
    this.why.hidden = !why;
    this.all.hidden = Boolean(why);
  }

  async load() {
    const { tenant } = this.context();
    this.close();
    try {
      this.tables = await ask("/api/tables", { tenant });
    } catch (error) {
      this.hide(error.message);
      return;
    }
    this.buttons = this.tables.map((table) => el("button", { type: "button", "aria-pressed": "false", onclick: () => this.open(table) }, el("span", {}, table.alias), el("span", { class: "hint" }, whole(table.entries))));
    put(this.list, this.buttons.length ? this.buttons.map((button) => el("li", {}, button)) : el("li", { class: "hint" }, "The program has no tables."));
    const again = this.tables.find((table) => table.name === this.table?.name) ?? this.tables[0];
    if (again) await this.open(again);
    else this.body.hidden = true;
  }

  async open(table) {
    this.close();
    Object.assign(this, { table, from: 0 });
    this.search.value = "";
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(this.tables[at] === table)));
    this.body.hidden = false;
    put(this.title, table.name);
    const keys = make_table(null, ["key", "match", "bits"], table.keys.map((key) => [key.name, key.match, String(key.width)]), [2]);
    const actions = make_table(null, ["action", "parameters"], table.actions.map((action) => [`${action.name}${action.scope === "default_only" ? " (only default)" : ""}`, action.params.map((p) => `${p.name}: ${p.width} bits`).join(", ")]));
    put(this.keys, el("div", { class: "grid" }, table.keys.length ? keys : null, actions), table.constraints.map((text) => el("p", { class: "mono" }, text)));
    await this.read();
  }

  searched() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.from = 0;
      this.read(true);
    }, 250);
  }

  /// Whether a button of an entry has the focus: a table that is written anew would take it away, and what the button asks.
  in_use() {
    return this.entries.contains(document.activeElement) && document.activeElement.tagName === "BUTTON";
  }

  /// Reads and shows entries; unasked, only while none of them is in use.
  async read(unasked = false) {
    const { tenant } = this.context(), table = this.table;
    if (!table || this.reading) return;
    this.reading = true;
    try {
      const page = await ask("/api/table", { tenant, table: table.name, search: this.search.value, from: this.from, count: COUNT });
      if (table === this.table && !(unasked && this.in_use())) this.write(page);
    } catch (error) {
      this.refuse(error.message);
    } finally {
      this.reading = false;
    }
    // The table or the search has changed meanwhile.
    if (table !== this.table) await this.read();
  }

  /// Called each second while the view is open.
  tick() {
    if (this.table && !this.in_use() && (this.page?.total ?? 0) <= LARGE) this.read(true);
  }

  write(page) {
    this.page = page;
    const at = this.tables.indexOf(this.table);
    put(this.buttons[at].lastChild, whole(page.total));
    const { writable } = this.context(), table = this.table;
    const counted = page.entries.some((entry) => entry.counter);
    const changes = writable && !table.const;
    const headings = [...table.keys.map((key) => key.name), ...(table.priority ? ["priority"] : []), "action", ...(counted ? ["packets", "bytes"] : []), ...(changes ? ["change"] : [])];
    const first = table.keys.length + (table.priority ? 1 : 0) + 1;
    const rows = page.entries.map((entry) => [
      ...table.keys.map((key) => el("code", {}, entry.keys[key.name] ?? "*")),
      ...(table.priority ? [String(entry.priority)] : []),
      el("code", {}, entry.action),
      ...(counted ? [whole(entry.counter?.packets ?? 0), whole(entry.counter?.bytes ?? 0)] : []),
      ...(changes ? [entry.const ? "constant" : this.buttons_of(entry)] : []),
    ]);
    put(this.entries, page.entries.length ? make_table(null, headings, rows, [...(table.priority ? [table.keys.length] : []), ...(counted ? [first, first + 1] : [])]) : el("p", { class: "hint" }, page.total ? "No entry contains these words." : "The table has no entries."));
    const last = this.from + page.entries.length;
    const found = page.accepted === page.total ? "" : ` found of ${whole(page.total)}`;
    put(this.pages,
      el("button", { type: "button", disabled: this.from === 0, onclick: () => this.move(-COUNT) }, "◀ Previous page"),
      el("span", { role: "status" }, page.accepted ? `${whole(this.from + 1)}–${whole(last)} of ${whole(page.accepted)}${found}` : "0 entries"),
      el("button", { type: "button", disabled: last >= page.accepted, onclick: () => this.move(COUNT) }, "Next page ▶"),
      el("button", { type: "button", onclick: () => this.read() }, "Read again"),
      changes ? el("button", { type: "button", class: "primary", id: "add", onclick: () => this.edit(null) }, "Add an entry") : null);
    put(this.default, el("h3", {}, "Default action"), el("code", { id: "default" }, page.default), writable && !table.const ? el("button", { type: "button", onclick: () => this.edit_default() }, "Change") : null);
  }

  move(by) {
    this.from = Math.max(0, this.from + by);
    this.read();
  }

  buttons_of(entry) {
    const remove = el("button", { type: "button", class: "bad", "aria-label": `Delete ${entry.key_text}`, onclick: async () => {
      // The first press asks, the second deletes.
      if (remove.textContent === "Delete") {
        put(remove, "Really?");
        remove.addEventListener("blur", () => put(remove, "Delete"), { once: true });
      } else await this.change("delete", entry.key_text, "deleted");
    } }, "Delete");
    return el("span", { class: "row" }, el("button", { type: "button", "aria-label": `Edit ${entry.key_text}`, onclick: () => this.edit(entry) }, "Edit"), remove);
  }

  close() {
    put(this.form);
    this.refuse("");
    put(this.done);
  }

  refuse(text) {
    put(this.message, text);
  }

  /// A form for an entry; for a new one without an entry.
  edit(entry) {
    this.close();
    const table = this.table;
    const keys = table.keys.map((key) => ({ key, input: el("input", { value: entry?.keys[key.name] ?? "", disabled: entry !== null, placeholder: { lpm: "VALUE/LENGTH", ternary: "VALUE&&&MASK or *", range: "LOW..HIGH or *", optional: "VALUE or *" }[key.match] ?? "VALUE", "aria-label": key.name }) }));
    const priority = table.priority ? el("input", { value: entry?.priority ?? "", disabled: entry !== null, inputmode: "numeric", "aria-label": "priority" }) : null;
    const fields = el("span", { class: "row" });
    const action = this.action_fields(fields, entry, table.actions.filter((a) => a.scope !== "default_only"));
    const submit = () => {
      const matches = keys.filter(({ input }) => input.value.trim()).map(({ key, input }) => `${key.name}=${input.value.trim()}`);
      if (priority?.value.trim()) matches.push(`priority=${priority.value.trim()}`);
      this.change(entry ? "modify" : "insert", `${matches.join(" ")} => ${action()}`, entry ? "changed" : "added");
    };
    this.show_form(entry ? "Change an entry" : "Add an entry", [
      ...keys.map(({ key, input }) => el("label", { class: "stack" }, `${key.name} (${key.match}, ${key.width} bits)`, input)),
      priority ? el("label", { class: "stack" }, "priority (the highest wins)", priority) : null, fields], submit);
  }

  edit_default() {
    this.close();
    const fields = el("span", { class: "row" });
    const action = this.action_fields(fields, null, this.table.actions.filter((a) => a.scope !== "table_only"));
    this.show_form("Change the default action", [fields], () => this.change("default", action(), "changed"));
  }

  show_form(title, fields, submit) {
    put(this.form, el("form", { class: "entry", onsubmit: (event) => {
      event.preventDefault();
      submit();
    } }, el("h3", {}, title), el("div", { class: "row" }, fields, el("button", { class: "primary", id: "save" }, "Save"), el("button", { type: "button", onclick: () => this.close() }, "Cancel"))));
    this.form.querySelector("input:not(:disabled), select")?.focus();
  }

  /// Fields for an action and its parameters. Returns a function that yields their text.
  action_fields(place, entry, actions) {
    if (this.table.profile) {
      const input = el("input", { value: entry?.action ?? "", placeholder: "member(1), group(2) or ACTION(…)*WEIGHT | …" });
      put(place, el("label", { class: "stack" }, "action", input));
      return () => input.value;
    }
    const now = entry?.actions[0];
    let inputs = [];
    const parameters = el("span", { class: "row" });
    const select = el("select", { id: "action", onchange: () => write() }, actions.map((a) => el("option", { value: a.name, selected: a.name === now?.name }, a.name)));
    const write = () => {
      const chosen = actions.find((a) => a.name === select.value);
      inputs = (chosen?.params ?? []).map((param) => ({ param, input: el("input", { value: chosen.name === now?.name ? now.args[param.name] ?? "" : "", placeholder: "VALUE", "aria-label": param.name }) }));
      put(parameters, inputs.map(({ param, input }) => el("label", { class: "stack" }, `${param.name} (${param.width} bits)`, input)));
    };
    write();
    put(place, el("label", { class: "stack" }, "action", select), parameters);
    return () => `${select.value}(${inputs.map(({ param, input }) => `${param.name}=${input.value.trim()}`).join(", ")})`;
  }

  async change(operation, entry, word) {
    const { tenant, program, token } = this.context();
    this.refuse("");
    put(this.done);
    try {
      await ask("/api/write/entry", {}, { tenant, table: this.table.name, program, operation, entry }, token);
      this.close();
      put(this.done, `The entry was ${word}.`);
      await this.read();
    } catch (error) {
      this.refuse(error.message);
    }
  }
}
