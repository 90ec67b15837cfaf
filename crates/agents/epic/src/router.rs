//! The router's program and its tables.

use std::sync::Arc;

use hopwright_dataplane::{BuildError, Control, ControlError, EngineKind, EntrySpec, VirtualDataPlane, wall_clock_us};
use hopwright_driver::{Compiled, compile_text, in_memory};

use crate::cipher::Cipher;
use crate::key::Key;
use crate::packet::{Host, IsdAs, Level};

/// Port by which the program punts.
pub const CPU_PORT: u32 = 510;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../p4/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
const SOURCES: &[(&str, &str)] = files![
    "epic_router.p4",
    "authenticators.p4",
    "cipher_aes.p4",
    "cipher_sem.p4",
    "duplicates.p4",
    "headers.p4",
    "parser.p4",
    "reasons.p4",
    "sem_tables.p4",
];

/// Compiles `p4/epic/epic_router.p4` with a cipher.
pub fn compile(cipher: Cipher) -> Compiled {
    let (name, text) = SOURCES[0];
    let mut options = in_memory(&SOURCES[1..]);
    if cipher == Cipher::Sem {
        options.define("EPIC_SEM");
    }
    compile_text(name, text, &options, true)
}

/// The program, ready to run.
///
/// # Errors
/// If it cannot be compiled to machine code here.
pub fn data_plane(cipher: Cipher, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
    let compiled = compile(cipher);
    let report = compiled.report(false);
    let pipeline = compiled.pipeline.ok_or(BuildError::Program(report))?;
    VirtualDataPlane::new(Arc::new(pipeline), engine)
}

/// How a neighbour AS relates to the router's. Numbers of `LinkType` in `headers.p4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both are core ASes.
    Core = 1,
    /// The neighbour is the parent.
    Parent = 2,
    /// The neighbour is a child.
    Child = 3,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The port.
    pub port: u16,
    /// Link-layer address at the other end.
    pub dst_mac: [u8; 6],
    /// Link-layer address at this end.
    pub src_mac: [u8; 6],
}

/// A link to another AS.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// The interface id in hop fields, not 0.
    pub interface: u16,
    /// What the neighbour is.
    pub relation: Relation,
    /// The way there.
    pub next_hop: NextHop,
}

/// What a router is told.
#[derive(Clone, Debug)]
pub struct Router {
    /// Its AS.
    pub ia: IsdAs,
    /// The AS's key for hop authenticators.
    pub hop_key: Key,
    /// The AS's secret of DRKey for EPIC.
    pub drkey_secret: Key,
    /// Packets of lower levels are dropped.
    pub min_level: Level,
    /// Drop packets that come again.
    pub suppress_duplicates: bool,
    /// Links to other ASes.
    pub links: Vec<Link>,
    /// Hosts of the AS.
    pub hosts: Vec<(Host, NextHop)>,
}

impl Router {
    /// Writes keys and tables. Must be repeated when the clock passes a multiple of 2^48 µs, about every nine years.
    ///
    /// # Errors
    /// If the program is not that of this cipher, or a table is full.
    pub fn program(&self, control: &Control, cipher: Cipher) -> Result<(), ControlError> {
        match cipher {
            Cipher::Aes => {
                set_key(control, "hop_key", &self.hop_key)?;
                control.set_default("duplicate_suppression", self.duplicates(), &[])?;
            }
            Cipher::Sem => {
                let key = u128::from_be_bytes(*self.hop_key.bytes());
                control.set_default("hop_key", "set_key", &[key.into()])?;
                control.set_default("duplicate_suppression", self.duplicates(), &[])?;
            }
        }
        set_key(control, "drkey_secret", &self.drkey_secret)?;
        for link in &self.links {
            let relation = link.relation as u8;
            control
                .put(&EntrySpec::new("links", "link").exact(link.next_hop.port).arg(link.interface).arg(relation))?;
            let entry = link.next_hop.arguments(EntrySpec::new("interfaces", "send").exact(link.interface));
            control.put(&entry.arg(relation))?;
        }
        for (host, next_hop) in &self.hosts {
            let address = host.bytes().iter().fold(0u128, |address, byte| address << 8 | u128::from(*byte));
            let entry = EntrySpec::new("hosts", "deliver").exact(host.kind()).exact(address);
            control.put(&next_hop.arguments(entry))?;
        }
        // The program's own clock has 48 bits of microseconds since 1970.
        let offset = wall_clock_us() >> 48 << 48;
        let arguments = [self.ia.0.into(), offset.into(), (self.min_level as u8).into()];
        control.set_default("router", "router_is", &arguments)
    }

    fn duplicates(&self) -> &'static str {
        if self.suppress_duplicates { "on" } else { "off" }
    }
}

impl NextHop {
    fn arguments(&self, entry: EntrySpec) -> EntrySpec {
        let mac = |mac: [u8; 6]| mac.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        entry.arg(self.port).arg(mac(self.dst_mac)).arg(mac(self.src_mac))
    }
}

fn set_key(control: &Control, object: &str, key: &Key) -> Result<(), ControlError> {
    let table = control.key_table(object)?;
    table.set_key(0, key.bytes()).map_err(|error| error.of(object))
}
