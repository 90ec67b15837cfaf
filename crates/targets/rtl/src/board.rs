//! Boards: everything around a design on a chip with Ethernet ports, up to the script that makes a bitstream.

use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::net::Ipv4Addr;

use serde::Deserialize;

use crate::Hardware;
use crate::shell::Shell;
use crate::target::Target;

/// A board with an ECP5 and Ethernet PHYs on RGMII.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name, as `--board` has it.
    pub name: String,
    /// Its maker's name for it.
    pub title: String,
    /// The chip's part number, such as `LFE5U-45F-6BG381C`.
    pub device: String,
    /// LUTs of the chip. It has as many flip-flops.
    pub luts: u32,
    /// Block RAMs of the chip.
    pub block_rams: u32,
    /// Bytes of the core's bus.
    #[serde(default = "defaults::bus_bytes")]
    pub bus_bytes: u32,
    /// The longest frame in bytes, without its check sequence.
    #[serde(default = "defaults::max_packet_bytes")]
    pub max_packet_bytes: u32,
    /// Bytes of the queue in front of each port; a power of two, at least 2048.
    #[serde(default = "defaults::queue_bytes")]
    pub queue_bytes: u32,
    /// The longest delay between registers of the core, in hundredths of a LUT level.
    #[serde(default = "defaults::stage_delay")]
    pub stage_delay: u32,
    /// Arguments of openFPGALoader for the board.
    #[serde(default)]
    pub load: Vec<String>,
    /// The clock at a pin.
    pub clock: Clock,
    /// The reset of all PHYs, active low, if they share it.
    pub reset: Option<Pin>,
    /// An LED that blinks while the design runs.
    pub led: Option<Pin>,
    /// Ethernet ports; port i of a program is the i-th.
    pub port: Vec<Rgmii>,
    /// How the board is controlled.
    #[serde(default)]
    pub control: Control,
}

mod defaults {
    pub(super) fn bus_bytes() -> u32 {
        32
    }
    pub(super) fn max_packet_bytes() -> u32 {
        1536
    }
    pub(super) fn queue_bytes() -> u32 {
        8192
    }
    pub(super) fn stage_delay() -> u32 {
        300
    }
}

/// A pin of the chip.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Its name.
    pub pin: String,
    /// The I/O standard.
    pub standard: String,
}

/// A clock at a pin, and what is made of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The pin.
    pub pin: String,
    /// The I/O standard.
    pub standard: String,
    /// Megahertz; a multiple of 25.
    pub mhz: u32,
    /// The core's clock is 625 MHz divided by this.
    pub core_divider: u32,
}

/// An Ethernet PHY on RGMII, of 1 Gbit/s.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rgmii {
    /// The I/O standard of its pins.
    pub standard: String,
    /// The pin of the clock of what is received.
    pub rx_clk: String,
    /// The pin of its control line.
    pub rx_ctl: String,
    /// The pins of its data, the lowest bit first.
    pub rx_data: [String; 4],
    /// The pin of the clock of what is sent.
    pub tx_clk: String,
    /// The pin of its control line.
    pub tx_ctl: String,
    /// The pins of its data, the lowest bit first.
    pub tx_data: [String; 4],
    /// Picoseconds by which received data are delayed.
    pub rx_delay_ps: u32,
    /// Picoseconds by which the clock of what is sent is delayed.
    pub tx_delay_ps: u32,
    /// The pin of its reset, active low, if it has one of its own.
    pub reset: Option<String>,
}

/// The connection by which the board is controlled: Etherbone over UDP, port 1234.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// The Ethernet port.
    pub port: u32,
    /// The Ethernet address, as `02:00:00:00:00:01`.
    pub mac: String,
    /// The IPv4 address.
    pub ip: Ipv4Addr,
}

impl Default for Control {
    fn default() -> Control {
        Control { port: 0, mac: "10:e2:d5:00:00:00".into(), ip: Ipv4Addr::new(192, 168, 1, 50) }
    }
}

/// The boards that come with the compiler.
const BUILT_IN: [&str; 2] = [include_str!("../boards/colorlight-i9.toml"), include_str!("../boards/versa-ecp5.toml")];

/// The modules around a core.
const MODULES: [(&str, &str); 9] = [
    ("hw_control_tap", include_str!("../boards/lib/hw_control_tap.sv")),
    ("hw_crc32_8", include_str!("../boards/lib/hw_crc32_8.sv")),
    ("hw_etherbone", include_str!("../boards/lib/hw_etherbone.sv")),
    ("hw_gmii_rx", include_str!("../boards/lib/hw_gmii_rx.sv")),
    ("hw_gmii_tx", include_str!("../boards/lib/hw_gmii_tx.sv")),
    ("hw_narrow", include_str!("../boards/lib/hw_narrow.sv")),
    ("hw_packet_cdc", include_str!("../boards/lib/hw_packet_cdc.sv")),
    ("hw_pulse_count", include_str!("../boards/lib/hw_pulse_count.sv")),
    ("hw_widen", include_str!("../boards/lib/hw_widen.sv")),
];

/// The frequency of the PLL's oscillator, and of what is sent.
const VCO_MHZ: f64 = 625.0;
const TX_MHZ: u32 = 125;

/// A file that describes no board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// It is no TOML, or a field is missing or unknown.
    #[error(transparent)]
    File(#[from] toml::de::Error),
    /// A field has a value that no board can have.
    #[error("`{field}` is {value}; it must be {expected}")]
    Value {
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// What it can be.
        expected: &'static str,
    },
}

/// An error unless a field's value is right.
fn must(right: bool, field: &str, value: impl Display, expected: &'static str) -> Result<(), BoardError> {
    match right {
        true => Ok(()),
        false => Err(BoardError::Value { field: field.into(), value: value.to_string(), expected }),
    }
}

impl Board {
    /// All boards that come with the compiler.
    pub fn all() -> Vec<Board> {
        BUILT_IN.iter().map(|text| Board::parse(text).expect("built-in boards are well formed")).collect()
    }

    /// The board with this name.
    pub fn by_name(name: &str) -> Option<Board> {
        Board::all().into_iter().find(|board| board.name == name)
    }

    /// Reads a board's file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Board, BoardError> {
        let board: Board = toml::from_str(text)?;
        board.check()?;
        Ok(board)
    }

    fn check(&self) -> Result<(), BoardError> {
        let Board { bus_bytes, max_packet_bytes, queue_bytes, stage_delay, clock, port, control, .. } = self;
        let name_like = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = !self.name.is_empty() && self.name.chars().all(name_like);
        must(is_name, "name", format!("`{}`", self.name), "letters, digits, `-` and `_`")?;
        self.chip()?;
        let is_clock = clock.mhz.is_multiple_of(25) && (25..=400).contains(&clock.mhz);
        must(is_clock, "clock.mhz", clock.mhz, "a multiple of 25 up to 400")?;
        let divider = clock.core_divider;
        must((4..=25).contains(&divider), "clock.core_divider", divider, "from 4 (156.25 MHz) to 25 (25 MHz)")?;
        must((1..=16).contains(&port.len()), "port", format!("{} times there", port.len()), "there 1 to 16 times")?;
        must(matches!(bus_bytes, 16 | 32 | 64), "bus_bytes", bus_bytes, "16, 32 or 64")?;
        must((64..=1984).contains(max_packet_bytes), "max_packet_bytes", max_packet_bytes, "from 64 to 1984")?;
        let is_queue = queue_bytes.is_power_of_two() && (2048..=1 << 16).contains(queue_bytes);
        must(is_queue, "queue_bytes", queue_bytes, "a power of two from 2048 to 65536")?;
        must((100..=1000).contains(stage_delay), "stage_delay", stage_delay, "from 100 to 1000")?;
        for (number, port) in port.iter().enumerate() {
            for (field, delay) in [("rx_delay_ps", port.rx_delay_ps), ("tx_delay_ps", port.tx_delay_ps)] {
                must(delay < 128 * 25, &format!("port {number}: {field}"), delay, "less than 3200")?;
            }
        }
        must((control.port as usize) < port.len(), "control.port", control.port, "the number of a `port`")?;
        self.mac().map(drop)
    }

    /// The Ethernet address of the control.
    fn mac(&self) -> Result<u64, BoardError> {
        let text = &self.control.mac;
        let parts: Option<Vec<u64>> =
            text.split(':').map(|part| u8::from_str_radix(part, 16).ok().map(u64::from)).collect();
        match parts {
            Some(parts) if parts.len() == 6 && parts[0] & 1 == 0 => {
                Ok(parts.iter().fold(0, |mac, part| mac << 8 | part))
            }
            _ => Err(BoardError::Value {
                field: "control.mac".into(),
                value: format!("`{text}`"),
                expected: "a unicast address such as 02:00:00:00:00:01",
            }),
        }
    }

    /// nextpnr's options for the chip.
    fn chip(&self) -> Result<String, BoardError> {
        let unknown = || BoardError::Value {
            field: "device".into(),
            value: format!("`{}`", self.device),
            expected: "a part number such as LFE5U-45F-6BG381C",
        };
        let device = self.device.to_ascii_uppercase();
        let mut parts = device.split('-');
        let (Some(family), Some(size), Some(rest), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(unknown());
        };
        let prefix = match family {
            "LFE5U" => "",
            "LFE5UM" => "um-",
            "LFE5UM5G" => "um5g-",
            _ => return Err(unknown()),
        };
        let size = size.strip_suffix('F').filter(|size| ["12", "25", "45", "85"].contains(size)).ok_or_else(unknown)?;
        let speed = rest.chars().next().filter(|c| ('6'..='8').contains(c)).ok_or_else(unknown)?;
        let packages =
            [("256", "CABGA256"), ("285", "CSFBGA285"), ("381", "CABGA381"), ("554", "CABGA554"), ("756", "CABGA756")];
        let (_, package) = packages.iter().find(|(pins, _)| rest[1..].contains(pins)).ok_or_else(unknown)?;
        Ok(format!("--{prefix}{size}k --speed {speed} --package {package}"))
    }

    /// The megahertz of the core.
    pub fn core_mhz(&self) -> f64 {
        VCO_MHZ / f64::from(self.clock.core_divider)
    }

    /// The target of designs for this board.
    pub fn target(&self) -> Target {
        Target {
            name: self.name.clone(),
            bus_bytes: self.bus_bytes,
            clock_mhz: self.core_mhz().round() as u32,
            window_bytes: 128,
            max_packet_bytes: self.max_packet_bytes,
            gap: 1,
            copy_lists: 256,
            stage_delay: self.stage_delay,
            lut_inputs: 4,
            carry_per_bit: 5,
            multiply: 300,
            chip: self.device.clone(),
            luts: self.luts,
            registers: self.luts,
            block_rams: self.block_rams,
            block_bits: 18432,
            block_width: 36,
            shell: Shell::Ecp5,
        }
    }

    /// The files of an image, by names: the design's without its shell, the board's modules, constraints and a makefile.
    pub fn files(&self, hardware: &Hardware, program: &str) -> Vec<(String, String)> {
        let name = &hardware.verilog.name;
        let shell = format!("{}.sv", hardware.shell.name);
        let mut files = hardware.files(program);
        files.retain(|(file, _)| *file != shell);
        let modules = MODULES.iter().map(|(module, text)| (format!("{module}.sv"), (*text).to_string()));
        files.extend(modules);
        let engines = crate::engines::with_parts(&BTreeSet::from(["hw_arbiter"]));
        for (engine, text) in engines {
            let file = format!("{engine}.sv");
            if !files.iter().any(|(other, _)| *other == file) {
                files.push((file, text.to_string()));
            }
        }
        files.extend([
            (format!("{name}_board.sv"), self.board_module(name)),
            ("chip/hw_ecp5_rgmii.sv".into(), include_str!("../boards/lib/hw_ecp5_rgmii.sv").into()),
            (format!("chip/{name}_top.sv"), self.top_module(name)),
            (format!("{name}.lpf"), self.constraints()),
            ("Makefile".into(), self.makefile(name, program)),
            ("simulation.cpp".into(), include_str!("../boards/sim.cpp").into()),
            crate::simulation::captures(),
        ]);
        files
    }

    fn board_module(&self, name: &str) -> String {
        let fraction = ((1u64 << 32) as f64 / self.core_mhz()).round() as u64;
        include_str!("../boards/board.sv")
            .replace("@NAME@", name)
            .replace("@PORTS@", &self.port.len().to_string())
            .replace("@BUS@", &self.bus_bytes.to_string())
            .replace("@MAX@", &self.max_packet_bytes.to_string())
            .replace("@QUEUE@", &(self.queue_bytes / 4).to_string())
            .replace("@CONTROL@", &self.control.port.to_string())
            .replace("@MAC@", &format!("48'h{:012x}", self.mac().unwrap_or_default()))
            .replace("@IP@", &format!("32'h{:08x}", self.control.ip.to_bits()))
            .replace("@MICROSECOND@", &fraction.to_string())
    }

    fn top_module(&self, name: &str) -> String {
        let (mut pins, mut phys) = (Vec::new(), String::new());
        for (number, port) in self.port.iter().enumerate() {
            for (direction, width, signal) in RGMII {
                let width = if width > 1 { format!("[{}:0] ", width - 1) } else { String::new() };
                pins.push(format!("    {direction} logic {width}eth{number}_{signal}"));
            }
            let connections =
                RGMII.map(|(_, _, signal)| format!(".rgmii_{signal}(eth{number}_{signal})")).join(",\n        ");
            let _ = write!(
                phys,
                "\n    hw_ecp5_rgmii #(\n        .RX_DELAY({}),\n        .TX_DELAY({})\n    ) phy_{number} (\n        \
                 {connections},\n        .rx_clk(rx_clk[{number}]),\n        .rxd(rxd[{byte}+:8]),\n        \
                 .rx_dv(rx_dv[{number}]),\n        .rx_er(rx_er[{number}]),\n        .tx_clk,\n        \
                 .txd(txd[{byte}+:8]),\n        .tx_en(tx_en[{number}])\n    );\n",
                port.rx_delay_ps / 25,
                port.tx_delay_ps / 25,
                byte = 8 * number,
            );
            if port.reset.is_some() {
                pins.push(format!("    output logic eth{number}_rst_n"));
                let _ = writeln!(phys, "    assign eth{number}_rst_n = phy_rst_n;");
            }
        }
        if self.reset.is_some() {
            pins.push("    output logic phy_reset_n".into());
            phys.push_str("\n    assign phy_reset_n = phy_rst_n;\n");
        }
        if self.led.is_some() {
            pins.push("    output logic led".into());
            phys.push_str("\n    logic [25:0] blink = '0;\n    always_ff @(posedge clk) blink <= blink + 1'b1;\n    assign led = blink[25];\n");
        }
        include_str!("../boards/ecp5.sv")
            .replace("@NAME@", name)
            .replace("@BOARD@", &self.title)
            .replace("@CLOCK@", "clock")
            .replace("@CLOCK_MHZ@", &self.clock.mhz.to_string())
            .replace("@CORE_MHZ@", &format!("{:.3}", self.core_mhz()))
            .replace("@CLKI_DIV@", &(self.clock.mhz / 25).to_string())
            .replace("@CLKFB_DIV@", &(TX_MHZ / 25).to_string())
            .replace("@CORE_DIV@", &self.clock.core_divider.to_string())
            .replace("@PORTS@", &self.port.len().to_string())
            .replace("@PINS@", &pins.join(",\n"))
            .replace("@PHYS@", &phys)
    }

    /// The constraints for nextpnr: pins, I/O standards and clocks from outside.
    fn constraints(&self) -> String {
        let mut out = format!("# {}\nBLOCK RESETPATHS;\nBLOCK ASYNCPATHS;\n", self.title);
        let mut pin = |signal: &str, pin: &str, standard: &str, more: &str| {
            let _ = writeln!(
                out,
                "LOCATE COMP \"{signal}\" SITE \"{pin}\";\nIOBUF PORT \"{signal}\" IO_TYPE={standard}{more};"
            );
        };
        pin("clock", &self.clock.pin, &self.clock.standard, "");
        for (number, port) in self.port.iter().enumerate() {
            let signals = [
                ("rx_clk", std::slice::from_ref(&port.rx_clk), ""),
                ("rx_ctl", std::slice::from_ref(&port.rx_ctl), ""),
                ("rx_data", &port.rx_data[..], ""),
                ("tx_clk", std::slice::from_ref(&port.tx_clk), " SLEWRATE=FAST"),
                ("tx_ctl", std::slice::from_ref(&port.tx_ctl), " SLEWRATE=FAST"),
                ("tx_data", &port.tx_data[..], " SLEWRATE=FAST"),
            ];
            for (signal, pins, more) in signals {
                for (i, place) in pins.iter().enumerate() {
                    let index = if pins.len() > 1 { format!("[{i}]") } else { String::new() };
                    pin(&format!("eth{number}_{signal}{index}"), place, &port.standard, more);
                }
            }
            if let Some(place) = &port.reset {
                pin(&format!("eth{number}_rst_n"), place, &port.standard, "");
            }
        }
        for (signal, place) in [("phy_reset_n", &self.reset), ("led", &self.led)] {
            if let Some(place) = place {
                pin(signal, &place.pin, &place.standard, "");
            }
        }
        let _ = writeln!(out, "FREQUENCY PORT \"clock\" {} MHZ;", self.clock.mhz);
        for number in 0..self.port.len() {
            let _ = writeln!(out, "FREQUENCY PORT \"eth{number}_rx_clk\" {TX_MHZ} MHZ;");
        }
        out
    }

    /// Macros of the simulation's `main.cpp`.
    pub(crate) fn simulation_macros(&self) -> Vec<String> {
        vec![
            format!("PORTS={}", self.port.len()),
            format!("CORE_PERIOD_PS={}", (1e6 / self.core_mhz()).round()),
            format!("BOARD_CONTROL={}", self.control.port),
            format!("BOARD_IP={:#x}", self.control.ip.to_bits()),
            format!("BOARD_MAC={:#x}", self.mac().unwrap_or_default()),
        ]
    }

    fn makefile(&self, name: &str, file: &str) -> String {
        include_str!("../boards/Makefile.in")
            .replace("@NAME@", name)
            .replace("@BOARD@", &self.title)
            .replace("@CHIP@", &self.chip().unwrap_or_default())
            .replace("@MHZ@", &format!("{:.3}", self.core_mhz()))
            .replace("@LOAD@", &self.load.join(" "))
            .replace(
                "@MACROS@",
                &self.simulation_macros().iter().map(|text| format!("-D{text}")).collect::<Vec<_>>().join(" "),
            )
            .replace(
                "@OUTPUTS@",
                &(0..self.port.len()).map(|p| format!("--out {p}=out{p}.pcap")).collect::<Vec<_>>().join(" "),
            )
            .replace("@FILE@", file)
    }
}

/// The signals of RGMII: direction, width and name.
const RGMII: [(&str, u32, &str); 6] = [
    ("input ", 1, "rx_clk"),
    ("input ", 1, "rx_ctl"),
    ("input ", 4, "rx_data"),
    ("output", 1, "tx_clk"),
    ("output", 1, "tx_ctl"),
    ("output", 4, "tx_data"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modules_are_here() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("boards/lib");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = files.filter(|file| file != "hw_ecp5_rgmii.sv").collect();
        files.sort();
        assert_eq!(files, MODULES.map(|(name, _)| format!("{name}.sv")));
    }

    #[test]
    fn built_in_boards_have_two_ports_each() {
        for board in Board::all() {
            assert_eq!(board.port.len(), 2, "{}", board.name);
            assert_eq!(Board::by_name(&board.name), Some(board));
        }
    }

    #[test]
    fn errors_name_the_field_and_what_is_valid() {
        let text = BUILT_IN[0];
        let wrong = [
            ("LFE5U-45F-6BG381C", "XC7A35T", "`device` is `XC7A35T`; it must be a part number"),
            ("mhz = 25", "mhz = 12", "`clock.mhz` is 12; it must be a multiple of 25"),
            ("core_divider = 8", "core_divider = 2", "`clock.core_divider` is 2; it must be from 4"),
            ("rx_delay_ps = 2000", "rx_delay_ps = 9999", "`port 0: rx_delay_ps` is 9999; it must be less than 3200"),
            ("luts = 43848", "", "missing field `luts`"),
            ("luts = 43848", "luts = 43848\nleds = 1", "unknown field `leds`"),
            ("[clock]", "[control]\nport = 2\n[clock]", "`control.port` is 2; it must be the number of a `port`"),
            (
                "[clock]",
                "[control]\nmac = \"03:00\"\n[clock]",
                "`control.mac` is `03:00`; it must be a unicast address",
            ),
            ("name = \"colorlight-i9\"", "name = \"../x\"", "`name` is `../x`"),
        ];
        for (from, to, expected) in wrong {
            assert!(text.contains(from), "{from}");
            let error = Board::parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn parts_have_the_options_of_nextpnr() {
        let chip = |device: &str| Board { device: device.into(), ..Board::all().remove(0) }.chip();
        assert_eq!(chip("LFE5U-25F-6BG256C").unwrap(), "--25k --speed 6 --package CABGA256");
        assert_eq!(chip("LFE5UM-85F-8BG756").unwrap(), "--um-85k --speed 8 --package CABGA756");
        assert_eq!(chip("LFE5UM5G-45F-8BG381C").unwrap(), "--um5g-45k --speed 8 --package CABGA381");
        for wrong in [
            "LFE5U-45F",
            "LFE5U-35F-6BG381C",
            "LFE5U-45F-9BG381C",
            "LFE5U-45F-6QN48",
            "LFE5U-45F-6BG381C-X",
            "LFE5U-45F-",
        ] {
            assert!(chip(wrong).is_err(), "{wrong}");
        }
    }
}
