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

/// The order of packets in a design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// Whether it is known a cycle after a packet that it is dropped, and there is a verdict for each other one, in their order.
    pub(crate) is_kept: bool,
    /// Packets that have entered the pipeline, at most; a power of two.
    pub(crate) packets: u32,
    /// Copies between their verdicts and the exit, at most; a power of two.
    pub(crate) copies: u32,
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
    /// The module of its platform that contains it: its file, and its text.
    pub around: Option<(&'static str, String)>,
}

impl Shell {
    /// The module for a design with a bus of this many bytes.
    pub(crate) fn module(self, design: &str, bus_bytes: u32, order: Order) -> ShellModule {
        let fill = |text: &str| {
            text.replace("@NAME@", design)
                .replace("@BUS@", &bus_bytes.to_string())
                .replace("@STAMPED@", if order.is_kept { "1'b1" } else { "1'b0" })
                .replace("@PACKETS@", &(2 * order.packets).to_string())
                .replace("@COPIES@", &(2 * order.copies).to_string())
        };
        let (name, text, engines, around) = match self {
            Shell::Ecp5 => ("ecp5", include_str!("shells/ecp5.sv"), [].as_slice(), None),
            Shell::Corundum => {
                let block = ("mqnic_app_block.sv", fill(include_str!("shells/corundum_app.sv")));
                let engines = ["hw_arbiter", "hw_axil", "hw_fifo"].as_slice();
                ("corundum", include_str!("shells/corundum.sv"), engines, Some(block))
            }
        };
        ShellModule { name: format!("{design}_{name}"), text: fill(text), engines, around }
    }
}
