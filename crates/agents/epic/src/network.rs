//! A network of EPIC ASes as one file describes it: paths and keys of its hosts, entries of its routers.
//!
//! It stands in for the control plane of a test network: who reads the file knows all keys. In a real network each AS keeps its own
//! to itself, and hosts get paths from beacons and keys by DRKey.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::net::IpAddr;

use serde::Deserialize;

use crate::cipher::Cipher;
use crate::drkey;
use crate::key::Key;
use crate::packet::{Host, IsdAs, Level, ParseError};
use crate::path::{BeaconHop, Path, PathSegment};
use crate::router::Relation;
use crate::source::Keys;

/// A host of the network.
pub type Endpoint = (IsdAs, Host);

/// The lifetime of hops, (1 + n) · 337.5 s: six hours.
const EXP_TIME: u8 = 63;

/// A network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The cipher of all routers.
    pub cipher: Cipher,
    ases: BTreeMap<IsdAs, As>,
}

/// An AS.
#[derive(Clone, Debug)]
struct As {
    hop_key: Key,
    drkey_secret: Key,
    min_level: Level,
    suppress_duplicates: bool,
    /// Interface, what the neighbour is, and the neighbour.
    links: Vec<(u16, Relation, IsdAs)>,
    /// Ports and the hosts behind them.
    hosts: Vec<(u16, Vec<Host>)>,
}

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NetworkError {
    #[error("{0}")]
    Syntax(String),
    #[error("AS {ia}: {wrong}")]
    As { ia: String, wrong: String },
    #[error("there is no AS {0}")]
    Unknown(IsdAs),
    #[error("AS {0} and AS {1} have no common AS above them")]
    NoPath(IsdAs, IsdAs),
    #[error("the program for Tofino has the cipher SEM only")]
    TofinoCipher,
    #[error("port {0} is one that a Tofino 2 has for itself or for its CPU")]
    TofinoPort(u16),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFile {
    cipher: CipherName,
    r#as: Vec<AsFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CipherName {
    Aes,
    Sem,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsFile {
    ia: String,
    hop_key: String,
    drkey_secret: String,
    #[serde(default)]
    min_level: u8,
    #[serde(default)]
    suppress_duplicates: bool,
    #[serde(default)]
    parents: BTreeMap<String, String>,
    #[serde(default)]
    children: BTreeMap<String, String>,
    #[serde(default)]
    hosts: BTreeMap<String, Vec<IpAddr>>,
}

impl Network {
    /// Reads a network's description.
    ///
    /// # Errors
    /// If it is no TOML of the right form, an AS links to one that is not there, or numbers and keys are none.
    pub fn parse(text: &str) -> Result<Network, NetworkError> {
        let file: NetworkFile = toml::from_str(text).map_err(|e| NetworkError::Syntax(e.to_string()))?;
        let mut ases = BTreeMap::new();
        for one in &file.r#as {
            let wrong = |wrong: String| NetworkError::As { ia: one.ia.clone(), wrong };
            let ia: IsdAs = one.ia.parse().map_err(|e: ParseError| wrong(e.to_string()))?;
            if ases.insert(ia, As::read(one).map_err(wrong)?).is_some() {
                return Err(wrong("is described twice".into()));
            }
        }
        for (ia, one) in &ases {
            if let Some((_, _, neighbour)) = one.links.iter().find(|(_, _, n)| !ases.contains_key(n)) {
                let wrong = format!("its neighbour {neighbour} is not described");
                return Err(NetworkError::As { ia: ia.to_string(), wrong });
            }
        }
        let cipher = match file.cipher {
            CipherName::Aes => Cipher::Aes,
            CipherName::Sem => Cipher::Sem,
        };
        Ok(Network { cipher, ases })
    }

    fn get(&self, ia: IsdAs) -> Result<&As, NetworkError> {
        self.ases.get(&ia).ok_or(NetworkError::Unknown(ia))
    }

    /// The entries of an AS's router, as lines of a packet test (`hopwright run --entries`). Ports have the numbers of
    /// interfaces, and frames are sent to the broadcast address. `clock_us` is the time now, microseconds since 1970.
    ///
    /// # Errors
    /// If there is no such AS.
    pub fn entries(&self, ia: IsdAs, clock_us: u64) -> Result<String, NetworkError> {
        let one = self.get(ia)?;
        let hex = |key: &Key| format!("0x{:032x}", u128::from_be_bytes(*key.bytes()));
        let hop_key = match self.cipher {
            Cipher::Aes => format!("key_set hop_key 0 {}", hex(&one.hop_key)),
            Cipher::Sem => one.sem_key(),
        };
        let secret = hex(&one.drkey_secret);
        let (offset, level) = (clock_us >> 48 << 48, one.min_level as u8);
        Ok(format!(
            "{hop_key}\nkey_set drkey_secret 0 {secret}\n\
             setdefault router router_is(ia:{}, clock_offset:{offset}, min_level:{level})\n{}",
            ia.0,
            one.ways()
        ))
    }

    /// The same for the program for Tofino, whose clock is at zero at multiples of 2^48 nanoseconds.
    ///
    /// # Errors
    /// If there is no such AS, the cipher is another one than SEM, or a port is none for devices.
    pub fn entries_for_tofino(&self, ia: IsdAs, clock_us: u64) -> Result<String, NetworkError> {
        const SECOND: u64 = 1_000_000_000;
        let one = self.get(ia)?;
        if self.cipher != Cipher::Sem {
            return Err(NetworkError::TofinoCipher);
        }
        let mut ports = one.links.iter().map(|(port, ..)| *port).chain(one.hosts.iter().map(|(port, _)| *port));
        if let Some(port) = ports.find(|port| matches!(port % 128, 6 | 7) || *port == 64) {
            return Err(NetworkError::TofinoPort(port));
        }
        let zero = (clock_us * 1000) >> 48 << 48;
        let (at, rest) = (zero / SECOND, zero % SECOND * 1024 / SECOND);
        Ok(format!(
            "{}\nsetdefault clock zero_was(at:{at}, rest:{rest})\nsetdefault router router_is(ia:{}, min_level:{})\n{}",
            one.sem_key(),
            ia.0,
            one.min_level as u8,
            one.ways()
        ))
    }

    /// A shortest path up from one AS and down to another, constructed at `timestamp` (seconds since 1970).
    ///
    /// # Errors
    /// If there is none.
    pub fn path(&self, from: IsdAs, to: IsdAs, timestamp: u32) -> Result<Path, NetworkError> {
        self.get(from)?;
        self.get(to)?;
        let (ups, downs) = (self.above(from), self.above(to));
        let top = ups
            .keys()
            .filter(|top| downs.contains_key(top))
            .min_by_key(|top| ups[top].len() + downs[top].len())
            .ok_or(NetworkError::NoPath(from, to))?;
        let segment = |ases: &[IsdAs], seg_id| {
            let hops = self.beacon_hops(ases);
            PathSegment::construct(self.cipher, timestamp, seg_id, EXP_TIME, &hops)
        };
        let (up, down) = (&ups[top], &downs[top]);
        let mut segments = Vec::new();
        if up.len() > 1 || down.len() == 1 {
            segments.push(segment(up, 0x5eed).reversed());
        }
        if down.len() > 1 {
            segments.push(segment(down, 0xbeef));
        }
        Ok(Path { cipher: self.cipher, segments })
    }

    /// The ASes above one and itself, each with a shortest way down to it.
    fn above(&self, ia: IsdAs) -> BTreeMap<IsdAs, Vec<IsdAs>> {
        let mut ways = BTreeMap::from([(ia, vec![ia])]);
        let mut next = VecDeque::from([ia]);
        while let Some(at) = next.pop_front() {
            let parents = self.ases[&at].links.iter().filter(|(_, relation, _)| *relation == Relation::Parent);
            for (_, _, parent) in parents {
                if !ways.contains_key(parent) {
                    ways.insert(*parent, [&[*parent][..], &ways[&at]].concat());
                    next.push_back(*parent);
                }
            }
        }
        ways
    }

    /// What each AS of a way down adds to the segment.
    fn beacon_hops(&self, ases: &[IsdAs]) -> Vec<BeaconHop<'_>> {
        let interface = |ia: IsdAs, relation, neighbour: Option<&IsdAs>| {
            let link = self.ases[&ia].links.iter().find(|(_, r, n)| *r == relation && Some(n) == neighbour);
            link.map_or(0, |(interface, ..)| *interface)
        };
        let hop = |(place, &ia): (usize, &IsdAs)| BeaconHop {
            ia,
            key: &self.ases[&ia].hop_key,
            ingress: interface(ia, Relation::Parent, place.checked_sub(1).and_then(|before| ases.get(before))),
            egress: interface(ia, Relation::Child, ases.get(place + 1)),
        };
        ases.iter().enumerate().map(hop).collect()
    }

    /// The keys of a source for all ASes and a destination.
    ///
    /// # Errors
    /// If there is no such AS.
    pub fn keys(&self, src: Endpoint, dst: Endpoint) -> Result<Keys, NetworkError> {
        self.get(src.0)?;
        let as_host = |one: &As| drkey::as_host(&drkey::as_as(&one.drkey_secret, src.0), &src.1);
        let routers = self.ases.iter().map(|(ia, one)| (*ia, as_host(one))).collect();
        let as_as = drkey::as_as(&self.get(dst.0)?.drkey_secret, src.0);
        let destination = drkey::host_host(&drkey::host_as(&as_as, &dst.1), &src.1);
        Ok(Keys { routers, destination })
    }
}

impl As {
    fn sem_key(&self) -> String {
        format!("setdefault hop_key set_key(key:0x{:032x})", u128::from_be_bytes(*self.hop_key.bytes()))
    }

    /// Entries that all programs have: duplicate suppression, links, hosts.
    fn ways(&self) -> String {
        let mut out = String::new();
        let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
        if self.suppress_duplicates {
            line("setdefault duplicate_suppression on()".into());
        }
        let macs = |port: u16| format!("port:{port}, dst_mac:0xffffffffffff, src_mac:0x0200000{port:05x}");
        for (interface, relation, _) in &self.links {
            let relation = *relation as u8;
            line(format!("add links port:{interface} link(interface:{interface}, type:{relation})"));
            line(format!("add interfaces interface:{interface} send({}, type:{relation})", macs(*interface)));
        }
        for (port, hosts) in &self.hosts {
            for host in hosts {
                let address = host.bytes().iter().fold(0u128, |address, byte| address << 8 | u128::from(*byte));
                line(format!("add hosts type:{} address:{address} deliver({})", host.kind(), macs(*port)));
            }
        }
        out
    }

    fn read(file: &AsFile) -> Result<As, String> {
        let key = |name: &str, text: &str| {
            let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
            number.map(|n| Key::from(n.to_be_bytes())).ok_or(format!("`{name}` is not 32 hexadecimal digits"))
        };
        let number = |text: &str| match text.parse() {
            Ok(number @ 1..=499u16) => Ok(number),
            _ => Err(format!("interface or port `{text}` is not between 1 and 499")),
        };
        let mut links = Vec::new();
        for (relation, neighbours) in [(Relation::Parent, &file.parents), (Relation::Child, &file.children)] {
            for (interface, neighbour) in neighbours {
                let neighbour = neighbour.parse().map_err(|e: ParseError| e.to_string())?;
                links.push((number(interface)?, relation, neighbour));
            }
        }
        let mut hosts = Vec::new();
        for (port, addresses) in &file.hosts {
            hosts.push((number(port)?, addresses.iter().map(|a| Host(*a)).collect()));
        }
        let mut used: Vec<u16> = links.iter().map(|(n, ..)| *n).chain(hosts.iter().map(|(n, _)| *n)).collect();
        used.sort_unstable();
        if let Some(twice) = used.windows(2).find(|w| w[0] == w[1]) {
            return Err(format!("interface or port {} is used twice", twice[0]));
        }
        Ok(As {
            hop_key: key("hop_key", &file.hop_key)?,
            drkey_secret: key("drkey_secret", &file.drkey_secret)?,
            min_level: Level::try_from(file.min_level).map_err(|e| e.to_string())?,
            suppress_duplicates: file.suppress_duplicates,
            links,
            hosts,
        })
    }
}
