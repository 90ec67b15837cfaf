//! Shells: modules that put a design where it runs.

use serde::Deserialize;

/// What surrounds the design on a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// A bare ECP5 with its pins, for place and route.
    Ecp5,
    /// The application block of the Corundum NIC.
    Corundum,
}

/// A module around a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellModule {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Engines that it needs besides those of the design.
    pub engines: &'static [&'static str],
}

impl Shell {
    /// The module for a design with a bus of this many bytes.
    pub(crate) fn module(self, design: &str, bus_bytes: u32) -> ShellModule {
        let (name, text, engines) = match self {
            Shell::Ecp5 => ("ecp5", include_str!("shells/ecp5.sv"), [].as_slice()),
            Shell::Corundum => {
                ("corundum", include_str!("shells/corundum.sv"), ["hw_arbiter", "hw_axil", "hw_fifo"].as_slice())
            }
        };
        let text = text.replace("@NAME@", design).replace("@BUS@", &bus_bytes.to_string());
        ShellModule { name: format!("{design}_{name}"), text, engines }
    }
}
