//! BMv2's console log: what the program does with each packet, in the words that scripts look for.
//!
//! The worker copies packets, and a thread runs each copy in the interpreter against the running tables and registers
//! ([`ShadowExecution`]), so that the log costs the data path a copy. Packets that come faster than they can be logged are not in the
//! log, which says how many.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use hopwright_dataplane::{Sample, Sampling, ShadowExecution, Switch, wait};

use super::packet_log::{Handles, PacketLog};
use super::switch_options::LogLevel;
use crate::failure::Failure;

/// How often the thread checks whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// A log that is being written, until it is dropped.
pub(super) struct Console {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What to log, and where.
pub(super) struct Settings<'a> {
    /// To `FILE.txt`, as BMv2 names it; to standard output without a file.
    pub file: Option<&'a Path>,
    /// What to log.
    pub level: LogLevel,
    /// Bytes of packets to log.
    pub dump: usize,
}

impl Console {
    /// Starts to log the packets of a switch.
    ///
    /// # Errors
    /// If the file cannot be created, or the packets cannot be copied.
    pub(super) fn start(switch: &Arc<Switch>, settings: &Settings<'_>) -> Result<Console, Failure> {
        let out: Box<dyn Write + Send> = match settings.file {
            None => Box::new(io::stdout()),
            Some(file) => {
                let file = file.with_added_extension("txt");
                Box::new(
                    File::create(&file).map_err(|e| Failure::message(format!("--log-file {}: {e}", file.display())))?,
                )
            }
        };
        let sampling = switch.default_tenant().sample(None)?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut writer = Writer {
            switch: switch.clone(),
            sampling,
            out,
            level: settings.level,
            dump: settings.dump,
            stop: stop.clone(),
        };
        let thread = std::thread::Builder::new().name("log-console".into()).spawn(move || writer.run())?;
        Ok(Console { stop, thread: Some(thread) })
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it may have panicked of has been printed.
            let _ = thread.join();
        }
    }
}

struct Writer {
    switch: Arc<Switch>,
    sampling: Sampling,
    out: Box<dyn Write + Send>,
    level: LogLevel,
    dump: usize,
    stop: Arc<AtomicBool>,
}

impl Writer {
    /// Runs until it is stopped and all packets are logged, or nobody reads the log.
    fn run(&mut self) {
        wait::give_way();
        let (mut number, mut lost) = (0, 0);
        let mut shadow: Option<(ShadowExecution, Handles)> = None;
        loop {
            let stop = self.stop.load(Ordering::Relaxed);
            let Writer { switch, sampling, level, dump, .. } = self;
            let text = sampling.next(TICK, |sample| {
                let vdp = switch.default_tenant().vdp();
                // The program may be replaced at any time.
                if !shadow.as_ref().is_some_and(|(shadow, _)| Arc::ptr_eq(shadow.vdp(), &vdp)) {
                    shadow = ShadowExecution::new(vdp).ok().map(|shadow| (shadow, Handles::default()));
                }
                let (shadow, handles) = shadow.as_mut()?;
                Some(text_of(sample, number, shadow, handles, (*level, *dump)))
            });
            let missing = self.sampling.lost() - lost;
            let mut text = match text {
                Some(text) => {
                    number += 1;
                    text.unwrap_or_default()
                }
                None if stop => return,
                None => String::new(),
            };
            if missing > 0 {
                lost += missing;
                text += &format!("[bmv2] [W] {missing} packets are not in this log: too many came\n");
            }
            if !text.is_empty() && self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err() {
                tracing::warn!("the log of packets cannot be written: it ends here");
                return;
            }
        }
    }
}

/// The lines of a packet.
fn text_of(
    sample: &Sample,
    number: u64,
    shadow: &mut ShadowExecution,
    handles: &mut Handles,
    (level, dump): (LogLevel, usize),
) -> String {
    let vdp = shadow.vdp().clone();
    let mut log = PacketLog::new(&vdp, handles, (number, sample.time_us()), level);
    log.received(sample.ingress_port(), sample.bytes(), dump);
    let output = shadow.process(sample.bytes(), sample.ingress_port() as u16, sample.time_us(), &mut log);
    if let Some(fault) = &output.fault {
        log.fault(&fault.message);
    }
    for sent in output.sent.iter().filter(|_| dump > 0) {
        log.sent(sent.port, &sent.bytes, dump);
    }
    log.take()
}
