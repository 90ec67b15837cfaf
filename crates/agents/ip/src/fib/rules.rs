//! Rules (`ip rule`): the routes of tables that rules name, as entries of the program's table of rules.
//!
//! The kernel goes through the rules in their order, and takes the first route that a rule's table has for the packet. So an entry for each route
//! of each rule, in this order, longer prefixes of a table first, finds what the kernel does.

use std::cmp::Reverse;

use hopwright_dataplane::ControlError;
use hopwright_host::netlink::Prefix;
use hopwright_ir::TableEntry;

use super::{Fib, Installed, View, Wanted, of_route};
use crate::policy::{Lookup, Selected, bits};
use crate::program::{Reason, RuleTable, Selector};

/// The most entries of a program's table. One more is for changing them.
const MOST: usize = 1000;
/// Above all others.
const FIRST: i32 = 1 << 16;

/// What packets meet that a rule selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meets {
    /// What the main table says.
    Main,
    Route(Wanted),
}

/// The entries of rules, of one protocol.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The first that matches counts.
    wanted: Vec<(Selector, Meets)>,
    installed: Vec<(TableEntry, Option<Installed>)>,
    /// The rules whose packets are the kernel's.
    left: Vec<String>,
}

impl Fib {
    /// Has packets looked up as rules say. The kernel gets those for which it has to do that itself.
    ///
    /// # Errors
    /// The program's tables have no room. All packets that rules may concern are the kernel's then, until this is called again.
    pub(crate) fn set_rules(&mut self, view: &View<'_>, ipv6: bool, rules: &[Selected]) -> Result<(), ControlError> {
        let Some(table) = self.program.rules(ipv6) else { return Ok(()) };
        let (wanted, left) = entries(view, ipv6, rules);
        let before = &mut self.rules[usize::from(ipv6)];
        before.left = left;
        if wanted == before.wanted {
            return Ok(());
        }
        before.wanted = Vec::new();
        let old = std::mem::take(&mut before.installed);
        // While entries come and go, the kernel routes what rules may concern.
        let all = table.entry(&Selector::default(), FIRST, table.outcomes.end(Reason::Policy));
        let control = self.program.control.clone();
        super::put(&control[table.id], all.clone())?;
        for (entry, _) in &old {
            control[table.id].delete(&entry.matches, entry.priority)?;
        }
        let installed = self.install(view, &table, ipv6, &wanted);
        // Next hops that old and new entries have stay meanwhile.
        for taken in old.into_iter().filter_map(|(_, taken)| taken) {
            self.release(taken, 0)?;
        }
        installed?;
        self.rules[usize::from(ipv6)].wanted = wanted;
        control[table.id].delete(&all.matches, all.priority)
    }

    fn install(
        &mut self,
        view: &View<'_>,
        table: &RuleTable,
        ipv6: bool,
        wanted: &[(Selector, Meets)],
    ) -> Result<(), ControlError> {
        for ((selector, meets), priority) in wanted.iter().zip((1..FIRST).rev()) {
            let taken = match meets {
                Meets::Main => None,
                Meets::Route(wanted) => Some(self.acquire(view, wanted.clone(), None)?),
            };
            let action = taken.map_or_else(|| table.use_routes(), |taken| taken.action(&table.outcomes));
            let entry = table.entry(selector, priority, action);
            self.program.control[table.id].insert(entry.clone())?;
            self.rules[usize::from(ipv6)].installed.push((entry, taken));
        }
        Ok(())
    }

    /// The rules whose packets are the kernel's.
    pub(crate) fn rules_left(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().flat_map(|rules| &rules.left)
    }
}

/// What packets meet, the first that matches, and the rules whose packets are the kernel's.
fn entries(view: &View<'_>, ipv6: bool, rules: &[Selected]) -> (Vec<(Selector, Meets)>, Vec<String>) {
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    let kernel = |selector| (selector, Meets::Route(Wanted::End(Reason::Policy)));
    for (at, Selected { selector, lookup, text }) in rules.iter().enumerate() {
        // The rules that follow have an entry each, at least.
        let room = MOST.saturating_sub(entries.len() + rules.len() - at);
        match lookup {
            Lookup::Main => entries.push((*selector, Meets::Main)),
            Lookup::Table(table) if view.table_size(*table) <= room => {
                let mut routes: Vec<(Prefix, Wanted)> = view
                    .table(*table)
                    .filter(|(prefix, _)| prefix.address.is_ipv6() == ipv6)
                    .map(|(prefix, forwarding)| (prefix, of_route(view, prefix, forwarding)))
                    .collect();
                routes.sort_unstable_by_key(|(prefix, _)| (Reverse(prefix.length), prefix.address));
                let within =
                    routes.into_iter().filter_map(|(prefix, wanted)| Some((within(*selector, prefix)?, wanted)));
                entries.extend(within.map(|(selector, wanted)| (selector, Meets::Route(wanted))));
            }
            Lookup::Kernel | Lookup::Table(_) => {
                entries.push(kernel(*selector));
                left.push(text.clone());
            }
        }
    }
    // More rules than there is room for: what the others select is not known.
    if entries.len() > MOST {
        entries = vec![kernel(Selector::default())];
        left = vec![format!("{} rules, for which there is no room", rules.len())];
    }
    (entries, left)
}

/// Packets that a rule selects, to a prefix; none if the rule selects none of them.
fn within(mut selector: Selector, prefix: Prefix) -> Option<Selector> {
    let ((value, mask), (of_rule, mask_of_rule)) = (bits(prefix), selector.dst);
    let same = mask & mask_of_rule;
    if value & same != of_rule & same {
        return None;
    }
    selector.dst = (value | of_rule, mask | mask_of_rule);
    Some(selector)
}
