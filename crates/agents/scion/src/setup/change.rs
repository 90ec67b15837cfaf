//! Changes of the configuration: which of them a running router can apply, and their description for the log.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use serde::Serialize;

use super::Setup;
use crate::config::links::{External, Links, Sibling};
use crate::config::{self, Config, Queues};
use hopwright_host::metrics::CounterFamily;

/// Counts of configuration changes by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReloadCounts {
    /// Changes that were applied.
    pub applied: u64,
    /// Files that were read but contained no changes.
    pub unchanged: u64,
    /// Changes that were refused; the previous configuration stayed active.
    pub refused: u64,
    /// Changes that failed while being applied; the previous configuration was restored.
    pub failed: u64,
    /// The reason for the last refusal or failure, unless a change has been applied since.
    pub error: Option<String>,
}

impl ReloadCounts {
    /// Returns the counts as a metric.
    pub fn family(&self) -> CounterFamily {
        let values = [
            ("applied", self.applied),
            ("unchanged", self.unchanged),
            ("refused", self.refused),
            ("failed", self.failed),
        ];
        CounterFamily {
            name: "hopwright_reloads_total",
            help: "Configurations read while running, by what became of them",
            label: "result",
            values: values.map(|(name, count)| (name.to_string(), count)).to_vec(),
        }
    }
}

/// A setting that a running router cannot change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} has changed from {from} to {to}: that needs a restart")]
pub struct NeedsRestart {
    /// The name of the setting.
    pub field: &'static str,
    /// The running value.
    pub from: String,
    /// The value in the file.
    pub to: String,
}

/// Returns the first setting that has changed and cannot be changed at run time.
pub fn check(running: &Setup, new: &Setup) -> Result<(), NeedsRestart> {
    fn same<T: PartialEq>(
        field: &'static str,
        from: &T,
        to: &T,
        show: impl Fn(&T) -> String,
    ) -> Result<(), NeedsRestart> {
        if from == to { Ok(()) } else { Err(NeedsRestart { field, from: show(from), to: show(to) }) }
    }
    fn shown<T: fmt::Display>(value: &T) -> String {
        format!("`{value}`")
    }
    let (a, b) = (&running.config, &new.config);
    same("general.id", &a.general.id, &b.general.id, shown)?;
    same("isd_as", &running.links.ia, &new.links.ia, shown)?;
    same("internal_addr", &running.links.internal, &new.links.internal, shown)?;
    same("metrics.prometheus", &a.metrics.prometheus, &b.metrics.prometheus, shown)?;
    same("api.addr", &a.api.addr, &b.api.addr, shown)?;
    same("log.console.format", &a.log.console.format, &b.log.console.format, shown)?;
    same("log.console.level", &a.log.console.level, &b.log.console.level, shown)?;
    same("hopwright.ports", &a.hopwright.ports, &b.hopwright.ports, shown)?;
    let slow_path = |config: &Config| config.slow_path_netns().unwrap_or_else(|| "own".into());
    same("hopwright.slow_path", &slow_path(a), &slow_path(b), shown)?;
    same("hopwright.busy_poll_us", &a.hopwright.busy_poll_us, &b.hopwright.busy_poll_us, shown)?;
    same("hopwright.cpus", &a.hopwright.cpus, &b.hopwright.cpus, |cpus| format!("{cpus:?}"))?;
    let rest = |rest: &Option<u32>| rest.map_or_else(|| "as it likes".into(), |rest| shown(&rest));
    same("hopwright.rest_us", &a.hopwright.rest_us, &b.hopwright.rest_us, rest)?;
    same("hopwright.batch", &a.hopwright.batch, &b.hopwright.batch, shown)?;
    same("hopwright.layout", &a.hopwright.layout, &b.hopwright.layout, shown)?;
    same("hopwright.hummingbird", &a.hopwright.hummingbird, &b.hopwright.hummingbird, shown)?;
    let queues = |queues: &BTreeMap<String, Queues>| {
        let all = queues.iter().map(|(device, queues)| format!("{device}.rate = \"{}\"", queues.rate));
        format!("`{{ {} }}`", all.collect::<Vec<_>>().join(", "))
    };
    same("hopwright.queues", &a.hopwright.queues, &b.hopwright.queues, queues)?;
    Ok(())
}

/// Returns whether two setups are equal in everything that a router uses.
pub fn unchanged(running: &Setup, new: &Setup) -> bool {
    // Ignores the files' locations, and keys without meaning.
    let looked_at = |config: &Config| Config {
        unknown_keys: Vec::new(),
        hopwright_file: None,
        has_hopwright_table: false,
        ..config.clone()
    };
    looked_at(&running.config) == looked_at(&new.config) && running.links == new.links && running.keys == new.keys
}

/// Describes the differences between two sets of links, one per line.
pub fn describe(old: &Links, new: &Links) -> Vec<String> {
    let mut lines = Vec::new();
    for link in &new.external {
        match old.interface(link.id) {
            None => lines.push(format!("interface {} added: {}", link.id, external(link))),
            Some(before) if before == link => {}
            Some(before) if external(before) == external(link) => {
                lines.push(format!("interface {} changed: settings", link.id));
            }
            Some(before) => {
                lines.push(format!("interface {} changed: {}; was {}", link.id, external(link), external(before)));
            }
        }
    }
    let gone = old.external.iter().filter(|link| new.interface(link.id).is_none());
    lines.extend(gone.map(|link| format!("interface {} removed: {}", link.id, external(link))));
    let named = |links: &Links, name: &str| links.siblings.iter().find(|s| s.name == name).cloned();
    for router in &new.siblings {
        match named(old, &router.name) {
            None => lines.push(format!("sibling {} added: {}", router.name, sibling(router))),
            Some(before) if before == *router => {}
            Some(before) => {
                lines.push(format!("sibling {} changed: {}; was {}", router.name, sibling(router), sibling(&before)));
            }
        }
    }
    let gone = old.siblings.iter().filter(|s| named(new, &s.name).is_none());
    lines.extend(gone.map(|s| format!("sibling {} removed: {}", s.name, sibling(s))));
    for (service, instances) in &new.services {
        let before = old.services.iter().find(|(s, _)| s == service).map(|(_, i)| i);
        if before != Some(instances) {
            lines.push(format!("service {service} changed: {}", list(instances)));
        }
    }
    lines
}

fn external(link: &External) -> String {
    format!("{} {}, {} to {}", link.neighbour, link.relation, link.underlay.local, link.underlay.remote)
}

fn sibling(sibling: &Sibling) -> String {
    let interfaces: Vec<String> = sibling.interfaces.iter().map(|(id, relation)| format!("{id} {relation}")).collect();
    format!("{} with {}", sibling.address, interfaces.join(", "))
}

fn list(addresses: &[SocketAddr]) -> String {
    if addresses.is_empty() {
        return "no instance".into();
    }
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the files that a configuration consists of.
pub fn files(file: &Path, config_dir: &Path) -> Vec<std::path::PathBuf> {
    let mut files = vec![file.to_path_buf(), config::hopwright_file(file), config_dir.join("topology.json")];
    files.extend(["keys/master0.key", "keys/master1.key"].map(|name| config_dir.join(name)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn changes_are_told() {
        let old = synthetic::rich_links(false);
        assert_eq!(describe(&old, &old), Vec::<String>::new());
        let mut new = old.clone();
        new.external.remove(0);
        new.external[0].underlay.remote = "192.0.2.9:7".parse().unwrap();
        new.siblings[0].interfaces.push((777, crate::config::topology::Relation::Child));
        new.services[0].1.clear();
        let lines = describe(&old, &new).join("\n");
        for wanted in ["removed: ", "to 192.0.2.9:7; was ", "777 child; was ", "changed: no instance"] {
            assert!(lines.contains(wanted), "{wanted}: {lines}");
        }
        assert_eq!(describe(&old, &new).len(), 4);
    }

    #[test]
    fn settings_of_running_workers_are_not_taken_on() {
        let file = Path::new("a file");
        let setup = |toml: &str| {
            let text = br#"{"isd_as": "1-ff00:0:1", "mtu": 1400, "border_routers": {}}"#;
            let topology = crate::config::topology::Topology::parse(file, text).unwrap();
            let keys = crate::config::keys::Keys::derive(b"current", b"next");
            let (config, links) = (Config::parse_unchecked(file, toml).unwrap(), synthetic::rich_links(false));
            Setup { file: None, config, topology, links, keys, bfd: Vec::new() }
        };
        let running = setup("");
        let same = setup("[hopwright]\nbatch = 256\n[router]\nnum_processors = 3\n");
        assert_eq!(check(&running, &same), Ok(()));
        for setting in [
            "ports = \"af_packet\"",
            "busy_poll_us = 20",
            "cpus = [0]",
            "rest_us = 0",
            "batch = 32",
            "layout = \"2br+2aes\"",
            "hummingbird = true",
            "queues = { eth1.rate = \"8k\" }",
        ] {
            let refused = check(&running, &setup(&format!("[hopwright]\n{setting}\n"))).unwrap_err();
            let (name, value) = setting.split_once(" = ").unwrap();
            assert_eq!(refused.field, format!("hopwright.{name}"));
            let text = refused.to_string();
            assert!(text.contains(value.trim_matches('"')) && text.ends_with("that needs a restart"), "{text}");
        }
    }
}
