//! Layouts: the program as pipes of a switch chip.
//!
//! The programs in `p4/tofino` have the tables, objects and reasons of `border_router.p4` and forward the same bytes. They are
//! compiled when a router with a layout starts.

use std::sync::Arc;

use hopwright_dataplane::{BuildError, EngineKind, VirtualDataPlane};
use hopwright_driver::{Compiled, Options, compile_text};
use hopwright_ir::Pipeline;

use super::program::{BuiltIn, LINK_COUNT, MAX_DEVICE_PORT};
use super::sources::SOURCES;
use crate::config::layout::Layout;
use crate::config::links::Links;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../p4/tofino/", $name)))),*]
    };
}

/// What the programs include, by the names they include each other by.
const PARTS: &[(&str, &str)] = files!["border_router.p4", "aes.p4", "authenticate.p4", "bridge.p4", "t_table.p4"];

/// The table that relates the clock of a pipe to the time.
pub(crate) const CLOCK: &str = "clock";
/// The action of [`CLOCK`].
pub(crate) const SINCE: &str = "since";

impl Layout {
    /// Why a program's tables have no room for a router's interfaces, if that is so. The plain program has room for all.
    pub fn lacks_room(self, links: &Links) -> Option<String> {
        let interfaces = links.external.len() + links.siblings.iter().map(|s| s.interfaces.len()).sum::<usize>();
        (self != Layout::Plain && interfaces > LINK_COUNT).then(|| {
            format!(
                "{interfaces} interfaces, those of siblings included, are more than the {LINK_COUNT} of layout {self}"
            )
        })
    }

    /// Compiles the program.
    pub fn compile(self, optimise: bool) -> Compiled {
        let (name, text) = match self {
            Layout::Plain => return super::sources::compile(optimise),
            Layout::OneBr => ("1br.p4", include_str!("../../p4/tofino/1br.p4")),
            Layout::OneBrOneAes => ("1br_1aes.p4", include_str!("../../p4/tofino/1br_1aes.p4")),
            Layout::OneBrTwoAes | Layout::TwoBrTwoAes => ("1br_2aes.p4", include_str!("../../p4/tofino/1br_2aes.p4")),
        };
        let controls = SOURCES.iter().map(|(name, text)| (format!("../scion/{name}"), *text));
        let parts = PARTS.iter().map(|(name, text)| (name.to_string(), *text));
        let options = Options {
            embedded: controls.chain(parts).map(|(name, text)| (name, text.into())).collect(),
            no_disk: true,
            ..Options::default()
        };
        compile_text(name, text, &options, optimise)
    }

    /// Returns the program. Compiles it, except for the plain layout's.
    ///
    /// # Panics
    /// If the program has errors, which is a defect of this crate.
    pub fn pipeline(self) -> Arc<Pipeline> {
        if self == Layout::Plain {
            return Arc::new(BuiltIn::read().pipeline().clone());
        }
        let compiled = self.compile(true);
        let report = compiled.report(false);
        Arc::new(compiled.pipeline.unwrap_or_else(|| panic!("layout {self}: {report}")))
    }

    /// Creates a data plane that runs the program.
    pub fn run(self, engine: EngineKind) -> Result<Arc<VirtualDataPlane>, BuildError> {
        match self {
            Layout::Plain => BuiltIn::read().run(engine),
            _ => VirtualDataPlane::new(self.pipeline(), engine),
        }
    }

    /// The numbers that ports of devices may have, in the order in which devices get them.
    pub fn device_ports(self) -> impl Iterator<Item = u32> {
        let pipes: &[u32] = match self {
            Layout::Plain | Layout::OneBr => &[0, 1, 2, 3],
            Layout::OneBrOneAes | Layout::OneBrTwoAes => &[0],
            Layout::TwoBrTwoAes => &[0, 3],
        };
        let all: Vec<u32> = match self {
            Layout::Plain => (1..=MAX_DEVICE_PORT).collect(),
            // A pipe has 128 ports, of which 6 and 7 are recirculation ports.
            _ => (0..128)
                .filter(|port| ![6, 7].contains(port))
                .flat_map(|port| pipes.iter().map(move |pipe| pipe << 7 | port))
                .filter(|port| (1..=MAX_DEVICE_PORT).contains(port))
                .collect(),
        };
        all.into_iter()
    }
}

/// The bytes that counters count in front of each received frame: those of the header between pipes.
pub(crate) fn bridge_bytes(pipeline: &Pipeline) -> u64 {
    let bridge = pipeline.headers.iter().find(|header| header.name.ends_with(".bridge"));
    bridge.map_or(0, |header| u64::from(header.fixed_bits / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_compile() {
        for layout in Layout::ALL {
            let compiled = layout.compile(true);
            assert_eq!(compiled.report(false), "", "{layout}");
            let pipeline = compiled.pipeline.unwrap();
            let bridge = [0, 4, 39, 39, 39][layout as usize];
            assert_eq!(bridge_bytes(&pipeline), bridge, "{layout}");
        }
    }

    #[test]
    fn ports_of_devices() {
        let first = |layout: Layout| layout.device_ports().take(8).collect::<Vec<_>>();
        assert_eq!(first(Layout::Plain), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(first(Layout::OneBr), [128, 256, 384, 1, 129, 257, 385, 2]);
        assert_eq!(first(Layout::OneBrOneAes), [1, 2, 3, 4, 5, 8, 9, 10]);
        assert_eq!(first(Layout::TwoBrTwoAes), [384, 1, 385, 2, 386, 3, 387, 4]);
        assert_eq!(Layout::TwoBrTwoAes.device_ports().max(), Some(MAX_DEVICE_PORT));
    }
}
