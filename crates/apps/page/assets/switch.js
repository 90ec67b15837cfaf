// The page of a switch: its views, and what is read each second.
import { ask, el, notice, put } from "/dom.js";
import { Overview } from "/overview.js";
import { Program } from "/program.js";
import { Router } from "/router.js";
import { Tables } from "/tables.js";
import { Trace } from "/trace.js";

const VIEWS = ["overview", "router", "program", "tables", "trace"];
const PERIOD = 1000;
const KEY = "hopwright-token";

const place = (id) => document.getElementById(id);

/// The token is taken out of the address, so that nobody reads it there or in the history. It is forgotten with the tab.
function take_token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

const state = { token: take_token(), tenant: null, about: null, program: null, paused: false };

const context = () => {
  const tenant = state.about?.tenants.find((one) => one.name === state.tenant);
  return { tenant: state.tenant, program: state.program?.number, token: state.token, writable: Boolean(tenant?.writable && state.token) };
};

const views = {
  overview: new Overview(place("overview")),
  router: new Router(place("router")),
  program: new Program(place("program"), context),
  tables: new Tables(place("tables"), context),
  trace: new Trace(place("trace"), context),
};

const current = () => VIEWS.find((view) => location.hash === `#${view}`) ?? VIEWS[0];

function show_view() {
  for (const view of VIEWS) {
    place(view).hidden = view !== current();
    const link = document.querySelector(`nav a[href="#${view}"]`);
    if (view === current()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function load() {
  state.about = await ask("/api/about");
  const names = state.about.tenants.map((tenant) => tenant.name);
  if (!names.includes(state.tenant)) state.tenant = names[0] ?? null;
  place("tenant-label").hidden = names.length < 2;
  put(place("tenant"), names.map((name) => el("option", { value: name, selected: name === state.tenant }, name)));
  if (state.tenant === null) throw new Error("the switch has no tenants");
  const tenant = state.about.tenants.find((one) => one.name === state.tenant);
  state.program = await ask("/api/program", { tenant: state.tenant });
  put(place("program-name"), `${state.program.name} · ${state.program.engine}`);
  put(place("access"), context().writable ? "tables may be changed" : "read only");
  place("router-link").hidden = !state.about.router;
  views.overview.reset();
  views.program.load(state.program);
  views.trace.load(state.program);
  views.tables.hide(tenant.device === null ? "The tenant has no device id: its tables are not shown." : "");
  if (tenant.device !== null) await views.tables.load();
}

async function tick() {
  if (!state.about) await load();
  const live = await ask("/api/live", { tenant: state.tenant, nodes: current() === "program" ? 1 : 0 });
  if (live.program !== state.program.number) {
    await load();
    return;
  }
  views.overview.update(live);
  if (current() === "router" && state.about.router) views.router.update(await ask("/api/state"));
  if (current() === "program") views.program.update(live);
  if (current() === "tables") views.tables.tick();
}

async function run() {
  const status = place("state");
  for (;;) {
    if (!state.paused && !document.hidden) {
      try {
        await tick();
        notice("");
        if (status.textContent !== "live") put(status, "live");
        status.className = "chip quiet live";
      } catch (error) {
        // The switch may be starting again, or may have other tenants.
        state.about = null;
        notice(error instanceof TypeError ? "The switch does not answer. Trying again." : error.message);
        if (status.textContent !== "not live") put(status, "not live");
        status.className = "chip quiet dead";
      }
    }
    await new Promise((next) => setTimeout(next, PERIOD));
  }
}

place("tenant").addEventListener("change", (event) => {
  state.tenant = event.target.value;
  state.about = null;
});
place("pause").addEventListener("click", (event) => {
  state.paused = !state.paused;
  event.target.setAttribute("aria-pressed", String(state.paused));
  put(event.target, state.paused ? "Go on" : "Pause");
  if (state.paused) {
    put(place("state"), "paused");
    place("state").className = "chip quiet";
  }
});
addEventListener("hashchange", show_view);
show_view();
run();
