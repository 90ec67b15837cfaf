//! A device that runs nothing: what the driver writes to its registers is kept, for a simulation that makes these accesses itself.

use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hopwright_dataplane::VirtualDataPlane;
use hopwright_dataplane::offload::Forwarded;
use hopwright_ir::Pipeline;
use hopwright_rtl::Hardware;
use hopwright_rtl::driver::{Access, Registers};
use hopwright_rtl::map::Map;
use num_bigint::BigUint;

use crate::{Design, Device, OffloadError};

/// What the driver of a design has written.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    accesses: Arc<Mutex<Vec<Access>>>,
}

impl Recorded {
    /// A data plane of a design that keeps what its driver writes: the default actions and entries of the program, and then every change.
    ///
    /// # Errors
    /// The driver has no room for the entries of the program.
    pub fn of(pipeline: &Arc<Pipeline>, hardware: Hardware) -> Result<(Arc<VirtualDataPlane>, Recorded), OffloadError> {
        let recorded = Recorded::default();
        let design = Design::attach(pipeline, hardware, recorded.clone())?;
        Ok((VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design))?, recorded))
    }

    /// All accesses so far as the testbench of a design reads them, a line each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for access in self.accesses.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = match access {
                Access::Write { address, data } => writeln!(text, "w {address:x} {data:x}"),
                Access::Wait { address } => writeln!(text, "i {address:x}"),
            };
        }
        text
    }
}

impl Registers for Recorded {
    fn read(&mut self, addresses: &[u32]) -> io::Result<Vec<u32>> {
        Ok(vec![0; addresses.len()])
    }

    fn access(&mut self, accesses: &[Access]) -> io::Result<()> {
        self.accesses.lock().unwrap_or_else(PoisonError::into_inner).extend(accesses);
        Ok(())
    }

    fn cells(&mut self, _: &Map, _: usize, cells: Range<u64>) -> io::Result<Vec<BigUint>> {
        Ok(cells.map(|_| BigUint::ZERO).collect())
    }

    fn attach(&mut self, _: &Map) -> io::Result<()> {
        Ok(())
    }
}

impl Device for Recorded {
    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn run(&mut self, packets: &[(u32, &[u8])], _: u64) -> io::Result<Vec<Vec<Forwarded>>> {
        if packets.is_empty() {
            return Ok(Vec::new());
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "nothing runs packets here"))
    }
}
