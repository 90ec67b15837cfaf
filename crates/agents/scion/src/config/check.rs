//! Checks a router's files without running it, and reports every problem with file and field. It needs no privileges or
//! devices. Host names in the topology are resolved. On the router's own machine, it also reports which kind of port
//! each link would use.

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use hopwright_ports::PortChoice;

use crate::bfd;
use crate::config::Config;
use crate::config::keys;
use crate::config::links::Links;
use crate::config::topology::{LONGEST_TOPOLOGY, Topology, TopologyError};
use crate::underlay::{self, Foreign};
use hopwright_host::files;
use hopwright_host::netlink::Netlink;

/// The findings about the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Problems that prevent the router from running.
    pub problems: Vec<String>,
    /// Settings that work, but may be unintended.
    pub warnings: Vec<String>,
    /// A one-line description of the router, if there is no problem.
    pub summary: Option<String>,
    /// What becomes of packets to hosts, by their ports, if there is no problem.
    pub hosts: Option<String>,
    /// The kind of port that each link would use, if this is the router's machine and there is no problem.
    pub links: Vec<String>,
}

/// Reads `router.toml`, `hopwright.toml` in the same directory, and all files that they refer to. `config_dir`, if
/// given, replaces the directory in the file. `lenient` turns unknown keys into warnings.
pub fn check(file: &Path, config_dir: Option<&Path>, lenient: bool) -> Report {
    let mut report = Report::default();
    let config = match Config::read_unchecked(file) {
        Ok(config) => Config { lenient, ..config },
        Err(error) => {
            report.problem(error);
            return report;
        }
    };
    for problem in config.problems(file) {
        report.problem(problem);
    }
    for key in config.unknown_keys.iter().filter(|_| !lenient) {
        report.problem(key);
    }
    report.warnings.extend(config.warnings(file));
    for (field, address) in [("metrics.prometheus", &config.metrics.prometheus), ("api.addr", &config.api.addr)] {
        let address = if address.starts_with(':') { format!("[::]{address}") } else { address.clone() };
        if !address.is_empty() && address.to_socket_addrs().is_err() {
            report.problem(format!("{}: {field}: `{address}` is no host and port", file.display()));
        }
    }
    let dir = config_dir.unwrap_or(&config.general.config_dir);
    if !dir.as_os_str().is_empty() && !dir.is_dir() {
        report.problem(format!("{}: general.config_dir: {} is no directory", file.display(), dir.display()));
        return report;
    }
    let found = topology(&dir.join("topology.json"), &config.general.id, &mut report);
    let (hosts, links) = found.map(|(topology, links)| (config.describe_dispatched_ports(&topology), links)).unzip();
    if let Some(why) = links.as_ref().and_then(|links| config.hopwright.layout.lacks_room(links)) {
        report.problem(format!("{}: {why}", dir.join("topology.json").display()));
    }
    if let Some(links) = &links
        && let Err(problem) = bfd::specs(links, &config.router.bfd)
    {
        report.problem(problem);
    }
    for name in ["master0.key", "master1.key"] {
        key(dir.join("keys").join(name), &mut report);
    }
    report.warnings.extend(links.iter().flat_map(Links::problems));
    if let (Some(links), true) = (links, report.problems.is_empty()) {
        let (id, own, siblings) = (&config.general.id, links.external.len(), links.siblings.len());
        let s = |count: usize| if count == 1 { "" } else { "s" };
        report.summary = Some(format!(
            "{}: router {id} of {}: {own} link{}, {siblings} sibling router{}",
            file.display(),
            links.ia,
            s(own),
            s(siblings)
        ));
        report.hosts = hosts;
        this_machine(&links, config.hopwright.ports, &mut report);
    }
    report
}

/// Reports how the links would be used on this machine.
fn this_machine(links: &Links, choice: PortChoice, report: &mut Report) {
    let Ok(mut kernel) = Netlink::open() else { return };
    match underlay::survey(&mut kernel, links, choice) {
        Ok(found) => report.links = found.iter().map(ToString::to_string).collect(),
        Err(Foreign::All) => {}
        Err(Foreign::Some(addresses)) => {
            for address in addresses {
                report.warnings.push(format!(
                    "{address} is not an address of this machine, although others of the router are: its links would be \
                     down"
                ));
            }
        }
    }
}

impl Report {
    fn problem(&mut self, problem: impl ToString) {
        self.problems.push(problem.to_string());
    }
}

fn topology(file: &Path, id: &str, report: &mut Report) -> Option<(Topology, Links)> {
    let text = files::read(file, LONGEST_TOPOLOGY)
        .map_err(|source| vec![TopologyError::Read { file: file.to_path_buf(), source }])
        .and_then(|text| Topology::parse_all(file, &text));
    let topology = match text {
        Ok(topology) => topology,
        Err(errors) => {
            errors.into_iter().for_each(|error| report.problem(error));
            return None;
        }
    };
    let links = Links::of(&topology, id).map_err(|error| report.problem(format!("{}: {error}", file.display())));
    Some((topology, links.ok()?))
}

fn key(file: PathBuf, report: &mut Report) {
    use std::os::unix::fs::PermissionsExt;

    if let Err(error) = keys::read(&file) {
        report.problem(error);
        return;
    }
    let mode = std::fs::metadata(&file).map_or(0, |m| m.permissions().mode());
    if mode & 0o007 != 0 {
        let mode = mode & 0o777;
        report.warnings.push(format!("{}: mode {mode:03o}: anybody on this machine may use the key", file.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(config: &str, topology: &str, keys: &[(&str, &str)]) -> (tempfile::TempDir, Report) {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("router.toml");
        std::fs::write(&file, config).unwrap();
        std::fs::write(dir.path().join("topology.json"), topology).unwrap();
        std::fs::create_dir(dir.path().join("keys")).unwrap();
        for (name, text) in keys {
            let key = dir.path().join("keys").join(name);
            std::fs::write(&key, text).unwrap();
            std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let report = check(&file, Some(dir.path()), false);
        (dir, report)
    }

    const KEYS: [(&str, &str); 2] =
        [("master0.key", "MDEyMzQ1Njc4OWFiY2RlZg=="), ("master1.key", "MDEyMzQ1Njc4OWFiY2RlZg==")];
    const TOPOLOGY: &str = r#"{"isd_as": "1-ff00:0:1", "border_routers": {"a": {"internal_addr": "10.0.0.1:30042",
        "interfaces": {"3": {"isd_as": "1-ff00:0:3", "link_to": "parent",
                             "underlay": {"local": "10.3.0.1:50000", "remote": "10.3.0.2:50001"}}}}}}"#;

    #[test]
    fn fine() {
        let (_dir, report) = files("general.id = 'a'\nmetrics.prometheus = ':30401'", TOPOLOGY, &KEYS);
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(report.warnings, Vec::<String>::new());
        assert!(report.summary.unwrap().ends_with("router a of 1-ff00:0:1: 1 link, 0 sibling routers"));
    }

    /// Every machine has the addresses of loopback underlays.
    #[test]
    fn links_of_this_machine() {
        let here = TOPOLOGY.replace("10.0.0.1:", "127.0.0.11:").replace("10.3.0.", "127.3.0.");
        let (_dir, report) = files("general.id = 'a'", &here, &KEYS);
        assert_eq!(
            report.links,
            [
                "internal: receives by UDP sockets (no network device has 127.0.0.11)",
                "interface 3: receives by UDP sockets (no network device has 127.3.0.1), sends by UDP sockets (it is on \
                 this machine)"
            ]
        );
        assert_eq!(report.warnings, Vec::<String>::new());
        // 192.0.2.0/24 is an unused range.
        let elsewhere = TOPOLOGY.replace("10.0.0.1:", "192.0.2.1:").replace("10.3.0.", "192.0.2.");
        let (_dir, report) = files("general.id = 'a'", &elsewhere, &KEYS);
        assert_eq!((report.links, report.warnings), (vec![], vec![]));
        let half = TOPOLOGY.replace("10.0.0.1:", "127.0.0.11:").replace("10.3.0.", "192.0.2.");
        let (_dir, report) = files("general.id = 'a'", &half, &KEYS);
        assert!(
            report.summary.is_some() && report.warnings[0].starts_with("192.0.2.1 is not an address of this machine")
        );
    }

    #[test]
    fn every_problem_of_every_file() {
        let config = "general.id = 'a'\nrouter.batch_size = -1\nrouter.num_processors = -2\napi.addr = 'nowhere'\n\
                      [turbo]\non = true";
        let topology = r#"{"isd_as": "1-ff00:0:1", "attributes": ["big"], "dispatched_ports": "9-1", "border_routers": {
            "a": {"interfaces": {"0": {"isd_as": "1-ff00:0:3", "link_to": "parent"},
                                 "3": {"isd_as": "1-ff00:0:3", "link_to": "uncle"}}},
            "b": {"internal_addr": "10.0.0.2"}},
            "control_service": {"cs": {"addr": "10.0.0.3"}}}"#;
        let (dir, report) = files(config, topology, &[("master0.key", "secret!")]);
        assert_eq!(report.summary, None);
        let name = |text: &str| text.strip_prefix(&format!("{}/", dir.path().display())).unwrap_or(text).to_string();
        let problems: Vec<_> = report.problems.iter().map(|p| name(p)).collect();
        for wanted in [
            "router.toml: router.num_processors: -2",
            "router.toml: router.batch_size: -1",
            "router.toml: api.addr: `nowhere`",
            "topology.json: attributes[0]: `big`",
            "topology.json: dispatched_ports: 9 is beyond",
            "topology.json: border_routers.a.internal_addr: missing",
            "topology.json: border_routers.a.interfaces.0: ",
            "topology.json: border_routers.a.interfaces.3.link_to: `uncle`",
            "topology.json: border_routers.b.internal_addr: ",
            "topology.json: control_service.cs.addr: ",
            "keys/master0.key: not base64",
            "keys/master1.key: ",
            "router.toml: turbo: unknown key",
        ] {
            assert!(problems.iter().any(|p| p.starts_with(wanted)), "{wanted} in {problems:#?}");
        }
        assert_eq!(problems.len(), 13, "{problems:#?}");
        assert!(!problems.iter().any(|p| p.contains("secret")), "{problems:#?}");
        let report = check(&dir.path().join("router.toml"), Some(dir.path()), true);
        assert_eq!(report.problems.len(), 12, "{:?}", report.problems);
        assert_eq!(
            report.warnings.iter().map(|p| name(p)).collect::<Vec<_>>(),
            ["router.toml: turbo: unknown key (ignored)"]
        );
    }

    #[test]
    fn intervals_that_no_session_can_have() {
        let topology = TOPOLOGY.replace("\"link_to\"", "\"bfd\": {\"desired_min_tx_interval\": \"2h\"}, \"link_to\"");
        assert_ne!(topology, TOPOLOGY);
        let (_dir, report) = files("general.id = 'a'", &topology, &KEYS);
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
        assert!(report.problems[0].starts_with("interface 3: bfd"), "{:?}", report.problems);
    }

    #[test]
    fn a_router_that_the_topology_lacks_and_keys_for_all() {
        use std::os::unix::fs::PermissionsExt;

        let (dir, report) = files("general.id = 'x'", TOPOLOGY, &KEYS);
        assert!(report.problems[0].contains("topology.json: general.id: the topology has no border router `x`"));
        let key = dir.path().join("keys/master0.key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        let report = check(&dir.path().join("router.toml"), Some(dir.path()), false);
        assert!(report.warnings[0].contains("master0.key: mode 644"), "{:?}", report.warnings);
        let report = check(&dir.path().join("router.toml"), Some(Path::new("/nowhere/at/all")), false);
        assert!(report.problems[0].contains("general.config_dir: /nowhere/at/all is no directory"));
    }
}
