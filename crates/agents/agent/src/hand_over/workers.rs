//! The threads of a switch's workers, which a process that is taken over from gives back.

use std::io;
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use hopwright_dataplane::{Switch, Worker, wait};

/// A worker's thread has panicked, which it has reported itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it panicked")]
pub struct Panicked;

/// The workers' threads.
#[derive(Debug)]
pub struct Workers {
    threads: Vec<JoinHandle<Worker>>,
    /// Lets a thread run its worker. A thread whose gate is dropped returns its worker.
    gates: Vec<SyncSender<()>>,
    /// Each worker is pinned to a CPU of the list if it is not empty.
    cpus: Vec<usize>,
    /// What each thread does first.
    prepare: fn(),
    /// The workers, while they pause.
    idle: Vec<Worker>,
}

impl Workers {
    /// Starts the threads, which wait for [`Workers::go`]. Each does `prepare` first, such as [`wait::shorten_slice`].
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(workers: Vec<Worker>, cpus: &[usize], prepare: fn()) -> io::Result<Workers> {
        let mut gates = Vec::with_capacity(workers.len());
        let start = |(index, mut worker): (usize, Worker)| {
            let cpu = cpus.get(index).copied();
            let (gate, opened) = mpsc::sync_channel(1);
            gates.push(gate);
            let run = move || {
                prepare();
                if let Some(cpu) = cpu
                    && let Err(error) = wait::pin_to(cpu)
                {
                    tracing::warn!(event = "cpu-pinning", cpu, %error, "cannot pin a worker to its CPU");
                }
                if opened.recv().is_ok() {
                    worker.run();
                }
                worker
            };
            std::thread::Builder::new().name(format!("worker-{index}")).spawn(run)
        };
        let threads = workers.into_iter().enumerate().map(start).collect::<io::Result<_>>()?;
        Ok(Workers { threads, gates, cpus: cpus.to_vec(), prepare, idle: Vec::new() })
    }

    /// Has the workers run.
    pub fn go(&self) {
        for gate in &self.gates {
            // A thread that has ended is noticed by `has_ended`.
            let _ = gate.try_send(());
        }
    }

    /// Whether one of them has ended.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Waits until they have ended, and drops those that have not paused.
    ///
    /// # Errors
    /// A worker has panicked.
    pub fn join(&mut self) -> Result<(), Panicked> {
        self.take().map(drop)
    }

    fn take(&mut self) -> Result<Vec<Worker>, Panicked> {
        self.threads.drain(..).map(|thread| thread.join().map_err(|_| Panicked)).collect()
    }

    /// Stops the switch, and brings every packet that has been taken in to where it goes. `agent` moves what waits for it, and says
    /// whether that was anything.
    ///
    /// # Errors
    /// A worker has panicked.
    pub fn pause(&mut self, switch: &Switch, agent: impl FnMut() -> bool) -> Result<(), Panicked> {
        switch.stop();
        let mut workers = self.take()?;
        Worker::finish(&mut workers, agent);
        self.idle = workers;
        Ok(())
    }

    /// The frames of each worker that are neither packets nor lent to devices, while they pause.
    pub fn free_frames(&self) -> impl Iterator<Item = &[u32]> {
        self.idle.iter().map(Worker::free_frames)
    }

    /// Undoes [`Workers::pause`]: the workers run again, on threads of their own and the same CPUs.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn go_on(&mut self, switch: &Switch) -> io::Result<()> {
        switch.resume();
        let (workers, cpus) = (std::mem::take(&mut self.idle), std::mem::take(&mut self.cpus));
        *self = Workers::start(workers, &cpus, self.prepare)?;
        self.go();
        Ok(())
    }
}
