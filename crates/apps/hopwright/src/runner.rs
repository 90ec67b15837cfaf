//! One packet after the other, in memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hopwright_coverage::Coverage;
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_stf::{DataPlaneEngine, Engine as _, Report};

use crate::{BuildError, Control, ControlError, CoverageReport, Digest, control};

/// Runs a program on one packet after the other, in memory: for tests, and for programs that have packets from elsewhere.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let text = hopwright::doc::REPEATER;
/// let mut runner = hopwright::compile(text)?.runner()?;
/// let output = runner.send(1, &[0; 60])?;
/// assert_eq!(output.sent.len(), 1);
/// assert_eq!(output.sent[0].port, 2);
/// # Ok(())
/// # }
/// ```
pub struct Runner {
    engine: DataPlaneEngine,
    control: Control,
    /// The time that the program sees.
    now: Duration,
}

/// What became of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The packets that left, in order.
    pub sent: Vec<Sent>,
    /// Why the packet or a copy of it was lost, if that was a fault of the program: it grew too far, or was processed too often.
    pub fault: Option<String>,
    /// The digests that the program sent, in order.
    pub digests: Vec<Digest>,
}

/// A packet that left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// By which port.
    pub port: u16,
    /// The whole packet.
    pub bytes: Vec<u8>,
}

/// A packet cannot be received: it does not fit the buffers, or there is no such port.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PacketError(String);

debug_is_display!(PacketError);

impl Runner {
    pub(crate) fn new(vdp: Arc<VirtualDataPlane>) -> Result<Runner, BuildError> {
        let control = Control::new(vdp.clone());
        Ok(Runner { engine: DataPlaneEngine::new(vdp, FrameSize::JUMBO)?, control, now: Duration::ZERO })
    }

    /// The program's tables and objects.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Runs a packet that arrives at a port. All copies that the program makes have left when the call returns.
    ///
    /// # Errors
    /// There is no such port, or the packet is longer than 9,216 bytes.
    pub fn send(&mut self, port: u16, packet: &[u8]) -> Result<Output, PacketError> {
        control::check_port(port).map_err(|error| PacketError(error.to_string()))?;
        let processed = self.engine.process(port, packet, self.now.as_micros() as u64);
        let processed = processed.map_err(|error| PacketError(error.to_string()))?;
        let sent = processed.sent.into_iter().map(|(port, bytes)| Sent { port, bytes }).collect();
        Ok(Output { sent, fault: processed.fault, digests: processed.digests })
    }

    /// Lets time pass, as the program sees it in time stamps and meters. It begins at zero, and does not pass by itself.
    pub fn advance(&mut self, time: Duration) {
        self.now += time;
    }

    /// Counts what packets reach from now on. The engine must be [`Engine::Interpreter`](crate::Engine::Interpreter), and the program
    /// should be [compiled without optimisation](crate::Compiler::optimise). What was counted before is forgotten.
    ///
    /// # Errors
    /// Another engine runs the program.
    pub fn measure_coverage(&mut self) -> Result<(), BuildError> {
        if self.engine.vdp.engine_kind() != EngineKind::Interp {
            return Err(BuildError::Program("only the interpreter counts what packets reach".into()));
        }
        self.engine.coverage = Some(Coverage::new(self.engine.vdp.pipeline()));
        Ok(())
    }

    /// What packets have reached since [`Runner::measure_coverage`], and the entries that tables have now, with the packets that hit each;
    /// `None` if it was not called. [`CoverageReport`] has `to_text`, `to_lcov` and `to_html`.
    pub fn coverage(&self) -> Option<CoverageReport> {
        self.engine.reached().as_ref().map(Coverage::report)
    }

    /// Runs a packet test in the language of `docs/stf.md`: lines such as `add`, `packet 1 0a0b…` and `expect 2 0a0b…`. `name` is what
    /// messages call it. The tables keep what the test writes. The test's clock begins at zero, with a millisecond between packets.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let text = hopwright::doc::REPEATER;
    /// let mut runner = hopwright::compile(text)?.runner()?;
    /// let report = runner.test("repeats", "packet 1 0102\nexpect 2 0102")?;
    /// assert!(report.passed(), "{:#?}", report.failures);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first line that is wrong or refused. What is not as expected is in the report.
    pub fn test(&mut self, name: &str, text: &str) -> Result<Report, ControlError> {
        let script = control::parse(name, text)?;
        Ok(hopwright_stf::run(&script, &mut self.engine)?)
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("control", &self.control).finish_non_exhaustive()
    }
}

/// Bytes from hexadecimal digits, with blanks anywhere: `"ffffffffffff 000000000001 0800"`.
///
/// # Errors
/// A character is no hexadecimal digit, or their number is odd.
pub fn bytes(text: &str) -> Result<Vec<u8>, ControlError> {
    let text = text.trim();
    hopwright_stf::script::parse_bytes(text)
        .map_err(|error| ControlError::Value { text: text.into(), reason: error.reason })
}
