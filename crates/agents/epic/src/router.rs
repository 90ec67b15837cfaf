//! The router's program and its tables.

mod sources;

use std::sync::Arc;

use hopwright_dataplane::{BuildError, Control, ControlError, EngineKind, VirtualDataPlane, wall_clock_us};
use hopwright_driver::{Compiled, compile_text};

use crate::cipher::Cipher;
use crate::key::Key;
use crate::packet::{Host, IsdAs, Level};

use sources::{SOURCES, options};
use with_aes::{action, entry, number, object, table};

/// What the build script makes of the program with a cipher: entries of tables, names of objects, numbers.
macro_rules! bindings {
    ($($module:ident),*) => {
        $(
            #[allow(clippy::too_many_arguments, dead_code, unreachable_pub)]
            mod $module {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($module), ".rs"));
            }
        )*
    };
}

bindings!(with_aes, with_sem);

/// Port by which the program punts.
pub const CPU_PORT: u32 = number::CPU_PORT as u32;

/// Compiles `p4/epic/epic_router.p4` with a cipher.
pub fn compile(cipher: Cipher) -> Compiled {
    let (name, text) = SOURCES[0];
    compile_text(name, text, &options(cipher == Cipher::Sem), true)
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
            Cipher::Aes => set_key(control, object::HOP_KEY, &self.hop_key)?,
            Cipher::Sem => {
                let key = u128::from_be_bytes(*self.hop_key.bytes());
                control.set_default(with_sem::table::HOP_KEY, with_sem::action::SET_KEY, &[key.into()])?;
            }
        }
        let duplicates = if self.suppress_duplicates { action::ON } else { action::OFF };
        control.set_default(table::DUPLICATE_SUPPRESSION, duplicates, &[])?;
        set_key(control, object::DRKEY_SECRET, &self.drkey_secret)?;
        for Link { interface, relation, next_hop } in &self.links {
            let (port, dst, src) = next_hop.numbers();
            control.put(&entry::links::link(port, *interface, *relation as u8))?;
            control.put(&entry::interfaces::send(*interface, port, dst, src, *relation as u8))?;
        }
        for (host, next_hop) in &self.hosts {
            let address = host.bytes().iter().fold(0, |address, byte| address << 8 | u128::from(*byte));
            let (port, dst, src) = next_hop.numbers();
            control.put(&entry::hosts::deliver(host.kind(), address, port, dst, src))?;
        }
        // The program's own clock has 48 bits of microseconds since 1970.
        let offset = wall_clock_us() >> 48 << 48;
        let arguments = [self.ia.0.into(), offset.into(), (self.min_level as u8).into()];
        control.set_default(table::ROUTER, action::ROUTER_IS, &arguments)
    }
}

impl NextHop {
    /// Port, destination and source, as the program has them.
    fn numbers(&self) -> (u16, u64, u64) {
        let mac = |mac: [u8; 6]| mac.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        (self.port, mac(self.dst_mac), mac(self.src_mac))
    }
}

fn set_key(control: &Control, object: &str, key: &Key) -> Result<(), ControlError> {
    let table = control.key_table(object)?;
    table.set_key(0, key.bytes()).map_err(|error| error.of(object))
}
