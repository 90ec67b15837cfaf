//! Tables: keys, actions with data, and entries in the program or for the control plane.

use crate::{Generator, Place, Ty};

/// A table that can be applied.
#[derive(Clone, Debug)]
pub(crate) struct Applicable {
    name: String,
    actions: Vec<String>,
}

/// An action of a table: its name and data parameters.
struct Data {
    name: String,
    params: Vec<(String, u32)>,
}

/// An action profile or selector.
struct Profile {
    name: String,
    selector: bool,
}

/// Properties of entries that only some tables have.
#[derive(Default)]
struct Beside {
    /// Members and groups that they refer to.
    profile: Option<Vec<String>>,
    /// Their direct meter.
    meter: Option<String>,
}

impl Generator {
    /// Declares a table with its actions, and fills it in each of the control's instances.
    pub(crate) fn table(&mut self, instances: &[String]) {
        let name = self.name("t");
        let counter = if self.config.state && self.random.one_in(3) { Some(self.name("direct")) } else { None };
        if let Some(counter) = &counter {
            self.line(self.config.architecture.direct_counter(counter));
        }
        let meter = if self.config.meters && self.random.one_in(5) { Some(self.name("direct")) } else { None };
        if let Some(meter) = &meter {
            let kind = *self.random.pick(&["packets", "bytes"]);
            self.line(format!("direct_meter<bit<2>>(MeterType.{kind}) {meter};"));
        }
        let profile = if self.config.profiles && self.random.one_in(4) { Some(self.profile()) } else { None };
        let actions: Vec<Data> =
            (0..self.random.between(1, 3)).map(|_| self.data_action(counter.as_deref(), meter.as_deref())).collect();
        let keys = self.keys();
        self.open(format!("table {name}"));
        self.open("key =");
        for (i, (text, _, kind)) in keys.iter().enumerate() {
            self.line(format!("{text} : {kind} @name(\"k{i}\");"));
        }
        if let Some(Profile { selector: true, .. }) = profile {
            for i in 0..self.random.between(1, 2) {
                let width = self.width();
                let text = self.leaf(Ty::Bits(width));
                self.line(format!("{text} : selector @name(\"s{i}\");"));
            }
        }
        self.close();
        let names: Vec<String> = actions.iter().map(|a| a.name.clone()).collect();
        self.line(format!("actions = {{ {}; NoAction; }}", names.join("; ")));
        if self.random.one_in(3) {
            let call = self.action_call(&actions, false);
            self.line(format!("default_action = {call};"));
        } else {
            self.line("default_action = NoAction();");
        }
        if let Some(counter) = &counter {
            self.line(format!("{} = {counter};", self.config.architecture.counters()));
        }
        if let Some(meter) = &meter {
            self.line(format!("meters = {meter};"));
        }
        if let Some(profile) = &profile {
            self.line(format!("implementation = {};", profile.name));
        }
        let plain = profile.is_none() && meter.is_none();
        let ordered = keys.iter().any(|k| matches!(k.2, "ternary" | "range" | "optional"));
        let constant = self.random.one_in(4) && plain;
        if self.config.entry_priorities && plain && counter.is_none() && ordered && self.random.one_in(2) {
            self.ranked_entries(&keys, &actions);
            self.close();
            self.applicable(name, names);
            return;
        }
        if constant {
            self.open("const entries =");
            self.entries(&keys, &actions, None, &Beside::default());
            self.close();
        }
        self.close();
        if !constant {
            for instance in instances {
                let beside = Beside {
                    profile: profile.as_ref().map(|p| self.members(p, instance, &actions)),
                    meter: meter.as_ref().map(|m| format!("{instance}.{m}")),
                };
                self.entries(&keys, &actions, Some(&format!("{instance}.{name}")), &beside);
            }
        }
        self.applicable(name, names);
    }

    fn applicable(&mut self, name: String, mut actions: Vec<String>) {
        actions.push("NoAction".into());
        self.tables.push(Applicable { name, actions });
    }

    /// Entries of the program with priorities, some of them derived from those before.
    fn ranked_entries(&mut self, keys: &[(String, u32, &'static str)], actions: &[Data]) {
        if self.random.one_in(2) {
            let largest = self.random.one_in(2);
            self.line(format!("largest_priority_wins = {largest};"));
        }
        if self.random.one_in(2) {
            let delta = self.random.between(1, 7);
            self.line(format!("priority_delta = {delta};"));
        }
        self.open("entries =");
        let given = self.random.one_in(3);
        let mut left: Vec<usize> = (1..10).map(|p| p * 100).collect();
        for at in 0..self.random.between(2, 6) {
            let matches: Vec<String> =
                keys.iter().map(|(_, width, kind)| self.match_text(kind, *width, false)).collect();
            let call = self.action_call(actions, false);
            let constant = if self.random.one_in(3) { "const " } else { "" };
            // The first has a priority if any other has. Those that are given are far from each other.
            let priority = if !given && (at == 0 || self.random.one_in(2)) {
                let which = self.random.below(left.len());
                format!("priority = {}: ", left.swap_remove(which))
            } else {
                String::new()
            };
            self.line(format!("{constant}{priority}({}): {call};", matches.join(", ")));
        }
        self.close();
    }

    fn profile(&mut self) -> Profile {
        let (name, selector) = (self.name("profile"), self.random.one_in(2));
        if selector {
            let algorithm = *self.random.pick(&["crc16", "crc32", "identity", "xor16"]);
            self.line(format!("action_selector(HashAlgorithm.{algorithm}, 32w16, 32w8) {name};"));
        } else {
            self.line(format!("action_profile(32w16) {name};"));
        }
        Profile { name, selector }
    }

    /// Fills a profile; returns the members and groups that entries can refer to.
    fn members(&mut self, profile: &Profile, instance: &str, actions: &[Data]) -> Vec<String> {
        let name = format!("{instance}.{}", profile.name);
        let mut targets = Vec::new();
        for member in 1..=self.random.between(1, 4) {
            let call = self.action_call(actions, true);
            self.entries.push_str(&format!("member_add {name} {member} {call}\n"));
            targets.push(format!("member {member}"));
        }
        if profile.selector {
            let members = targets.len();
            for group in 1..=self.random.between(1, 3) {
                let mut list = String::new();
                // Sometimes an empty group.
                for member in 1..=members {
                    if self.random.one_in(2) {
                        list.push_str(&format!(" {member}*{}", self.random.between(1, 3)));
                    }
                }
                self.entries.push_str(&format!("group_add {name} {group}{list}\n"));
                targets.push(format!("group {group}"));
            }
            let calls: Vec<String> = (0..self.random.between(1, 3)).map(|_| self.action_call(actions, true)).collect();
            targets.push(format!("set {}", calls.join(" ")));
        }
        targets
    }

    fn data_action(&mut self, counter: Option<&str>, meter: Option<&str>) -> Data {
        let name = self.name("act");
        let before = self.scope.len();
        let mut params = Vec::new();
        for _ in 0..self.random.below(4) {
            let (param, width) = (self.name("p"), self.width());
            self.declare(param.clone(), Ty::Bits(width), false);
            params.push((param, width));
        }
        let list: Vec<String> = params.iter().map(|(p, w)| format!("bit<{w}> {p}")).collect();
        self.open(format!("action {name}({})", list.join(", ")));
        self.place = Place::Action;
        // Hits count whether or not the action counts.
        if let Some(counter) = counter
            && !self.random.one_in(4)
        {
            self.line(format!("{counter}.count();"));
        }
        if let Some(meter) = meter
            && !self.random.one_in(4)
        {
            let color = self.name("color");
            self.line(format!("bit<2> {color};"));
            self.line(format!("{meter}.read({color});"));
            self.declare(color, Ty::Bits(2), true);
        }
        let count = self.random.between(1, 4);
        self.statements(count);
        self.close();
        self.scope.truncate(before);
        Data { name, params }
    }

    /// Text, width and match kind of each key. Keys are narrow or their entries' values likely, so that some hit.
    fn keys(&mut self) -> Vec<(String, u32, &'static str)> {
        let shape = self.random.below(if self.config.extensions { 5 } else { 4 });
        let lpm_at = self.random.below(3);
        (0..self.random.between(1, 3))
            .map(|i| {
                let kind = match shape {
                    0 => "exact",
                    1 => ["exact", "lpm"][usize::from(i == lpm_at)],
                    2 => *self.random.pick(&["ternary", "ternary", "exact"]),
                    4 => ["masked", "suffix", "exact"][(i + lpm_at) % 3],
                    _ if self.config.range_and_optional => {
                        *self.random.pick(&["range", "optional", "ternary", "exact"])
                    }
                    _ => "ternary",
                };
                let width = if kind == "exact" || self.random.one_in(2) {
                    1 + self.random.below(4) as u32
                } else {
                    self.width().max(2)
                };
                let text =
                    if self.random.one_in(3) { self.expr(Ty::Bits(width), 2) } else { self.leaf(Ty::Bits(width)) };
                (text, width, kind)
            })
            .collect()
    }

    fn action_call(&mut self, actions: &[Data], named: bool) -> String {
        if self.random.one_in(8) {
            return "NoAction()".into();
        }
        let action = &actions[self.random.below(actions.len())];
        let args: Vec<String> = action
            .params
            .iter()
            .map(|(param, width)| {
                let value = self.random.value(*width);
                if named { format!("{param}:{value:#x}") } else { format!("{width}w{value:#x}") }
            })
            .collect();
        format!("{}({})", action.name, args.join(", "))
    }

    /// Entries in the program, or for the control plane of the table of this name.
    fn entries(
        &mut self,
        keys: &[(String, u32, &'static str)],
        actions: &[Data],
        table: Option<&str>,
        beside: &Beside,
    ) {
        let mut seen = Vec::new();
        for _ in 0..self.random.between(1, 6) {
            let matches: Vec<String> =
                keys.iter().map(|(_, width, kind)| self.match_text(kind, *width, table.is_some())).collect();
            // Two entries with the same keys would be refused.
            if seen.contains(&matches) {
                continue;
            }
            let call = match &beside.profile {
                Some(targets) => format!("-> {}", self.random.pick(targets)),
                None => self.action_call(actions, table.is_some()),
            };
            match table {
                Some(table) => {
                    // Among equal priorities the first entry wins.
                    let priority = 1 + self.random.below(6);
                    let texts: Vec<String> = matches.iter().enumerate().map(|(i, m)| format!("k{i}:{m}")).collect();
                    let entry = self.name("entry");
                    let line = format!("add {table} {priority} {} {call} = {entry}\n", texts.join(" "));
                    self.entries.push_str(&line);
                    if let Some(meter) = &beside.meter {
                        let rates = self.rates();
                        self.entries.push_str(&format!("meter_set_rates {meter} {entry}{rates}\n"));
                    }
                }
                None => self.line(format!("({}) : {call};", matches.join(", "))),
            }
            seen.push(matches);
        }
    }

    fn match_text(&mut self, kind: &str, width: u32, stf: bool) -> String {
        let value = self.random.value(width);
        let all = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        match (kind, stf) {
            ("exact" | "optional", true) => format!("{value:#x}"),
            ("exact" | "optional", false) => format!("{width}w{value:#x}"),
            ("lpm", _) => {
                let length = self.random.between(0, width as usize) as u32;
                let mask = if length == 0 { 0 } else { all & (all << (width - length)) };
                if stf {
                    format!("{:#x}/{length}", value & mask)
                } else {
                    format!("{width}w{:#x} &&& {width}w{mask:#x}", value & mask)
                }
            }
            ("ternary" | "masked" | "suffix", _) => {
                let mask = match (kind, self.random.value(width)) {
                    ("suffix", chosen) => all.checked_shr((chosen % u128::from(width + 1)) as u32).unwrap_or(0),
                    (_, chosen) => chosen,
                };
                if stf {
                    let digit = |i: u32| match (mask >> i & 1, value >> i & 1) {
                        (0, _) => '*',
                        (_, 0) => '0',
                        _ => '1',
                    };
                    format!("0b{}", (0..width).rev().map(digit).collect::<String>())
                } else {
                    format!("{width}w{:#x} &&& {width}w{mask:#x}", value & mask)
                }
            }
            _ => {
                let other = self.random.value(width);
                let (lo, hi) = (value.min(other), value.max(other));
                if stf { format!("{lo:#x}..{hi:#x}") } else { format!("{width}w{lo:#x} .. {width}w{hi:#x}") }
            }
        }
    }

    /// Applies one of the remaining tables; returns how many statements that was.
    pub(crate) fn apply(&mut self, budget: usize) -> usize {
        if self.loops > 0 {
            return 1;
        }
        let at = self.random.below(self.tables.len());
        let table = self.tables.swap_remove(at);
        let inner = (budget / 3).max(1);
        match self.random.below(4) {
            0 => {
                let what = *self.random.pick(&["hit", "miss"]);
                self.open(format!("if ({}.apply().{what})", table.name));
                self.statements(inner);
                self.close();
                inner + 1
            }
            1 => {
                self.open(format!("switch ({}.apply().action_run)", table.name));
                for action in &table.actions {
                    if self.random.one_in(2) {
                        self.open(format!("{action}:"));
                        self.statements(inner);
                        self.close();
                    }
                }
                self.open("default:");
                self.statements(1);
                self.close();
                self.close();
                inner + 2
            }
            _ => {
                self.line(format!("{}.apply();", table.name));
                1
            }
        }
    }
}
