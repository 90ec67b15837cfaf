//! The configured BFD sessions, from the router's links and settings.
//!
//! As in the reference, the topology may give a link to another AS settings of its own. Sibling routers always have the
//! settings of `router.toml`.

use std::time::Duration;

use super::session::Settings;
use crate::config;
use crate::config::links::{Link, Links};
use crate::config::topology::Underlay;
use crate::packet::ia::IsdAs;

/// The shortest interval: the program's rate limit passes one packet of a link to the agent in half this time.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest interval that a packet can express.
const LONGEST: Duration = Duration::from_micros(u32::MAX as u64);

/// A configured session.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The session's link.
    pub link: Link,
    /// The underlay addresses of both ends.
    pub underlay: Underlay,
    /// This AS.
    pub local_ia: IsdAs,
    /// The AS at the other end.
    pub remote_ia: IsdAs,
    /// The other router's name if it is a sibling, otherwise the number of the interface.
    pub name: String,
    /// Multiplier and intervals.
    pub settings: Settings,
}

/// The error that an interval is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value:?} is not between 1 ms and 4294 s")]
pub struct BadInterval {
    /// The name of the setting.
    pub field: String,
    /// Its value.
    pub value: Duration,
}

/// Returns the sessions of a router. Links with BFD disabled have none.
pub fn specs(links: &Links, defaults: &config::Bfd) -> Result<Vec<Spec>, BadInterval> {
    let mut specs = Vec::new();
    for link in &links.external {
        if link.bfd.disable.unwrap_or(defaults.disable) {
            continue;
        }
        let or = |own: Duration, default: Duration| if own.is_zero() { default } else { own };
        let detect_mult = if link.bfd.detect_mult == 0 { defaults.detect_mult } else { link.bfd.detect_mult };
        specs.push(Spec {
            link: Link::External(link.id),
            underlay: link.underlay,
            local_ia: links.ia,
            remote_ia: link.neighbour,
            name: link.id.to_string(),
            settings: check(
                &format!("interface {}: bfd", link.id),
                Settings {
                    detect_mult,
                    desired_min_tx: or(link.bfd.desired_min_tx_interval, defaults.desired_min_tx_interval),
                    required_min_rx: or(link.bfd.required_min_rx_interval, defaults.required_min_rx_interval),
                },
            )?,
        });
    }
    for sibling in &links.siblings {
        if defaults.disable {
            continue;
        }
        specs.push(Spec {
            link: Link::Sibling(sibling.address),
            underlay: Underlay { local: links.internal, remote: sibling.address },
            local_ia: links.ia,
            remote_ia: links.ia,
            name: sibling.name.clone(),
            settings: check(
                "router.bfd",
                Settings {
                    detect_mult: defaults.detect_mult,
                    desired_min_tx: defaults.desired_min_tx_interval,
                    required_min_rx: defaults.required_min_rx_interval,
                },
            )?,
        });
    }
    Ok(specs)
}

fn check(of: &str, settings: Settings) -> Result<Settings, BadInterval> {
    for (name, value) in
        [("desired_min_tx_interval", settings.desired_min_tx), ("required_min_rx_interval", settings.required_min_rx)]
    {
        if !(SHORTEST..=LONGEST).contains(&value) {
            return Err(BadInterval { field: format!("{of}.{name}"), value });
        }
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::Path;

    use super::*;
    use crate::config::topology::Topology;

    fn links(bfd: &str) -> Links {
        let text = format!(
            r#"{{"isd_as": "1-ff00:0:1", "border_routers": {{
                "a": {{"internal_addr": "10.0.0.1:30042", "interfaces": {{
                    "3": {{"isd_as": "1-ff00:0:3", "link_to": "parent",
                           "underlay": {{"local": "10.3.0.1:50000", "remote": "10.3.0.2:50000"}}}},
                    "5": {{"isd_as": "1-ff00:0:5", "link_to": "child", "bfd": {bfd},
                           "underlay": {{"local": "10.5.0.1:50000", "remote": "10.5.0.2:50000"}}}}}}}},
                "b": {{"internal_addr": "10.0.0.2:30042", "interfaces": {{
                    "9": {{"isd_as": "1-ff00:0:9", "link_to": "peer", "bfd": {{"disable": true}}}}}}}}}}}}"#
        );
        Links::of(&Topology::parse(Path::new("t"), text.as_bytes()).unwrap(), "a").unwrap()
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn links_have_own_settings_and_siblings_the_global_ones() {
        let links = links(r#"{"detect_mult": 5, "desired_min_tx_interval": "25ms"}"#);
        let specs = specs(&links, &config::Bfd::default()).unwrap();
        let global = Settings { detect_mult: 3, desired_min_tx: 200 * MS, required_min_rx: 200 * MS };
        let own = Settings { detect_mult: 5, desired_min_tx: 25 * MS, required_min_rx: 200 * MS };
        let sibling: SocketAddr = "10.0.0.2:30042".parse().unwrap();
        let found: Vec<_> = specs.iter().map(|s| (s.link, s.name.as_str(), s.settings)).collect();
        assert_eq!(
            found,
            [(Link::External(3), "3", global), (Link::External(5), "5", own), (Link::Sibling(sibling), "b", global)]
        );
        assert_eq!((specs[1].local_ia, specs[1].remote_ia), (links.ia, links.external[1].neighbour));
        assert_eq!(specs[2].remote_ia, links.ia);
    }

    #[test]
    fn disabled_links_have_no_session() {
        let of = |links: &Links, disable| {
            let specs = specs(links, &config::Bfd { disable, ..config::Bfd::default() }).unwrap();
            specs.into_iter().map(|s| s.name).collect::<Vec<_>>()
        };
        assert_eq!(of(&links(r#"{"disable": true}"#), false), ["3", "b"]);
        assert_eq!(of(&links("{}"), true), [""; 0]);
        assert_eq!(of(&links(r#"{"disable": false}"#), true), ["5"]);
    }

    #[test]
    fn intervals_that_cannot_be() {
        let error = specs(&links(r#"{"desired_min_tx_interval": "999us"}"#), &config::Bfd::default()).unwrap_err();
        assert!(error.to_string().starts_with("interface 5: bfd.desired_min_tx_interval: 999"), "{error}");
        let global = config::Bfd { required_min_rx_interval: Duration::from_secs(4295), ..config::Bfd::default() };
        let error = specs(&links(r#"{"required_min_rx_interval": "1s"}"#), &global).unwrap_err();
        assert!(error.to_string().contains("required_min_rx_interval: 4295s"), "{error}");
    }
}
