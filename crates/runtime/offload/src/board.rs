//! Boards as the devices of designs.

use std::io;
use std::sync::Arc;

use hopwright_dataplane::offload::Forwarded;
use hopwright_ir::Pipeline;
use hopwright_rtl::{Etherbone, Target};

use crate::{BoardDesign, Design, Device, OffloadError};

impl BoardDesign {
    /// Drives the board at an address, `HOST` or `HOST:PORT`, which runs a program compiled for a target.
    ///
    /// # Errors
    /// The program is refused, the board does not answer, or runs another design.
    pub fn connect(pipeline: &Arc<Pipeline>, target: &Target, address: &str) -> Result<BoardDesign, OffloadError> {
        let hardware = hopwright_rtl::compile(pipeline, target).map_err(OffloadError::Refused)?;
        let device = Etherbone::connect(address).map_err(OffloadError::Start)?;
        Design::attach(pipeline, hardware, device)
    }
}

impl Device for Etherbone {
    fn settle(&mut self) -> io::Result<()> {
        // Accesses return when they have been made.
        Ok(())
    }

    fn run(&mut self, packets: &[(u32, &[u8])], _: u64) -> io::Result<Vec<Vec<Forwarded>>> {
        if packets.is_empty() {
            return Ok(Vec::new());
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "packets enter a board by its ports"))
    }
}
