//! Records what ports receive and send, in two pcap files for each device, as BMv2 names them: `eth0_in.pcap` and `eth0_out.pcap`.
//!
//! Workers copy packets to a fixed number of buffers, and a thread writes these: a worker never waits for a disk. A packet that finds
//! no free buffer is not recorded, and is counted. What has been recorded is in the files at most [`INTERVAL`] later, and all of it
//! when the [`Recorder`] is dropped.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_queue::ArrayQueue;
use hopwright_dataplane::egress_queues::QUEUES;
use hopwright_dataplane::{DeviceStats, Packet, Pool, Port, PortInfo};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};

/// Packets that wait to be written.
const BUFFERS: usize = 1024;
/// Bytes of a packet that are recorded: a jumbo frame and more.
const SNAPLEN: usize = 9216;
/// How long the writing thread rests while no packets come.
const INTERVAL: Duration = Duration::from_millis(5);

/// Why packets cannot be recorded.
#[derive(Debug)]
pub(crate) enum CaptureError {
    /// There is no such folder.
    NoFolder(PathBuf),
    /// A file cannot be created.
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The thread that writes cannot be started.
    Thread(io::Error),
}

impl std::error::Error for CaptureError {}

impl std::fmt::Display for CaptureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CaptureError::NoFolder(folder) => write!(f, "--pcap: directory '{}' does not exist", folder.display()),
            CaptureError::File { path, error } => write!(f, "--pcap: {}: {error}", path.display()),
            CaptureError::Thread(error) => write!(f, "--pcap: cannot start the thread that writes captures: {error}"),
        }
    }
}

/// A packet on its way to a file.
struct Frame {
    file: usize,
    time: Duration,
    /// Its length on the wire.
    length: usize,
    bytes: Box<[u8]>,
}

/// What workers and the writing thread share.
struct Shared {
    free: ArrayQueue<Box<Frame>>,
    filled: ArrayQueue<Box<Frame>>,
    lost: AtomicU64,
    stop: AtomicBool,
    /// Workers do not take these locks.
    files: Mutex<Vec<Output>>,
    error: Mutex<Option<String>>,
}

/// A file. Its writer is shared, so that it can be flushed behind [`PcapWriter`].
struct Output {
    path: PathBuf,
    /// `None` once writing has failed.
    writer: Option<PcapWriter<SharedFile>>,
    file: SharedFile,
    flushed: bool,
}

#[derive(Clone)]
struct SharedFile(Arc<Mutex<BufWriter<File>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.0).flush()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records packets of ports until it is dropped.
pub(crate) struct Recorder {
    folder: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Starts to write to files in this folder.
    ///
    /// # Errors
    /// If there is no such folder, or no thread can be started.
    pub(crate) fn new(folder: &Path) -> Result<Recorder, CaptureError> {
        if !folder.is_dir() {
            return Err(CaptureError::NoFolder(folder.into()));
        }
        let shared = Arc::new(Shared {
            free: ArrayQueue::new(BUFFERS),
            filled: ArrayQueue::new(BUFFERS),
            lost: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            files: Mutex::default(),
            error: Mutex::default(),
        });
        for _ in 0..BUFFERS {
            let frame = Frame { file: 0, time: Duration::ZERO, length: 0, bytes: vec![0; SNAPLEN].into() };
            // The queue has room for all of them.
            let _ = shared.free.push(Box::new(frame));
        }
        let writes = shared.clone();
        let thread = std::thread::Builder::new().name("capture".into()).spawn(move || writes.write_until_stopped());
        Ok(Recorder { folder: folder.into(), shared, thread: Some(thread.map_err(CaptureError::Thread)?) })
    }

    /// Records what the ports of a device, one for each worker, receive and send from now on.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub(crate) fn attach(&self, name: &str, ports: Vec<Box<dyn Port>>) -> Result<Vec<Box<dyn Port>>, CaptureError> {
        let received = self.create(&format!("{name}_in.pcap"))?;
        let sent = self.create(&format!("{name}_out.pcap"))?;
        let attach =
            |inner| Box::new(RecordedPort { inner, shared: self.shared.clone(), received, sent }) as Box<dyn Port>;
        Ok(ports.into_iter().map(attach).collect())
    }

    fn create(&self, name: &str) -> Result<usize, CaptureError> {
        let path = self.folder.join(name);
        let failed = |error| CaptureError::File { path: path.clone(), error };
        let mut file = SharedFile(Arc::new(Mutex::new(BufWriter::new(File::create(&path).map_err(failed)?))));
        let header = PcapHeader {
            ts_resolution: TsResolution::MicroSecond,
            datalink: DataLink::ETHERNET,
            endianness: Endianness::native(),
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(file.clone(), header).map_err(|e| failed(io::Error::other(e)))?;
        file.flush().map_err(failed)?;
        let mut files = lock(&self.shared.files);
        files.push(Output { path, writer: Some(writer), file, flushed: true });
        Ok(files.len() - 1)
    }

    /// Packets that were not recorded because more came than could be written.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Why a file could not be written, once. Nothing more is written to it.
    pub(crate) fn take_error(&self) -> Option<String> {
        lock(&self.shared.error).take()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("folder", &self.folder).field("lost", &self.lost()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Copies packets to buffers.
    fn record(&self, file: usize, packets: &[Packet]) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for packet in packets {
            let Some(mut frame) = self.free.pop() else {
                self.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let bytes = packet.bytes();
            let kept = bytes.len().min(SNAPLEN);
            frame.bytes[..kept].copy_from_slice(&bytes[..kept]);
            (frame.file, frame.time, frame.length) = (file, time, bytes.len());
            // There are no more buffers than the queue has room for.
            let _ = self.filled.push(frame);
        }
    }

    fn write_until_stopped(&self) {
        loop {
            // Asked before the last packets are taken, so that none is left.
            let stop = self.stop.load(Ordering::Acquire);
            while let Some(frame) = self.filled.pop() {
                self.write(&frame);
                let _ = self.free.push(frame);
            }
            for output in lock(&self.files).iter_mut().filter(|output| !output.flushed) {
                output.flushed = true;
                if let Err(error) = output.file.flush() {
                    self.fail(output, &error);
                }
            }
            if stop {
                return;
            }
            std::thread::sleep(INTERVAL);
        }
    }

    fn write(&self, frame: &Frame) {
        let mut files = lock(&self.files);
        let output = &mut files[frame.file];
        let Some(writer) = &mut output.writer else { return };
        let kept = &frame.bytes[..frame.length.min(SNAPLEN)];
        output.flushed = false;
        if let Err(error) = writer.write_packet(&PcapPacket::new(frame.time, frame.length as u32, kept)) {
            self.fail(output, &error);
        }
    }

    fn fail(&self, output: &mut Output, error: &dyn std::fmt::Display) {
        if output.writer.take().is_some() {
            *lock(&self.error) = Some(format!("{}: {error}", output.path.display()));
        }
    }
}

/// A port whose packets are recorded.
struct RecordedPort {
    inner: Box<dyn Port>,
    shared: Arc<Shared>,
    received: usize,
    sent: usize,
}

impl Port for RecordedPort {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn receive(&mut self, pool: &mut Pool, batch: &mut Vec<Packet>, limit: usize) -> usize {
        let count = self.inner.receive(pool, batch, limit);
        if count > 0 {
            self.shared.record(self.received, &batch[batch.len() - count..]);
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        if !packets.is_empty() {
            self.shared.record(self.sent, packets);
        }
        self.inner.transmit(pool, packets)
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn pending(&mut self) -> bool {
        self.inner.pending()
    }

    fn backlog(&mut self) -> u32 {
        self.inner.backlog()
    }

    fn depths(&mut self) -> [u32; QUEUES] {
        self.inner.depths()
    }

    fn waits(&mut self) -> [u32; QUEUES] {
        self.inner.waits()
    }

    fn has_queues(&self) -> bool {
        self.inner.has_queues()
    }

    fn room(&self) -> Option<usize> {
        self.inner.room()
    }

    fn discard(&mut self, pool: &mut Pool) {
        self.inner.discard(pool);
    }

    fn set_intake(&mut self, open: bool) {
        self.inner.set_intake(open);
    }

    fn set_hurry(&mut self, hurry: bool) {
        self.inner.set_hurry(hurry);
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.poll_fd()
    }

    fn urgent_poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.urgent_poll_fd()
    }

    fn finished(&self) -> bool {
        self.inner.finished()
    }

    fn stats(&self) -> DeviceStats {
        self.inner.stats()
    }

    fn is_up(&self) -> Option<bool> {
        self.inner.is_up()
    }

    fn info(&self) -> PortInfo {
        self.inner.info()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwright_dataplane::FrameSize;
    use hopwright_dataplane::memory::MemoryPort;
    use hopwright_ports::pcap;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("hopwright-capture-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn lengths(path: &Path) -> Vec<(u32, usize)> {
        let mut reader = pcap::open(path).unwrap();
        assert_eq!(reader.header().ts_resolution, TsResolution::MicroSecond);
        std::iter::from_fn(|| reader.next_packet().map(|p| p.unwrap()).map(|p| (p.orig_len, p.data.len()))).collect()
    }

    #[test]
    fn what_a_port_receives_and_sends_is_in_two_files() {
        let folder = folder("both");
        let recorder = Recorder::new(&folder).unwrap();
        let (port, wire) = MemoryPort::new("s1-eth1");
        let mut port = recorder.attach("s1-eth1", vec![Box::new(port)]).unwrap().remove(0);
        let mut pool = Pool::new(8, FrameSize { headroom: 0, data: 16_384 }).unwrap();
        wire.send([1; 60]);
        wire.send([2; 61]);
        let mut batch = Vec::with_capacity(8);
        assert_eq!(port.receive(&mut pool, &mut batch, 8), 2);
        batch.push(pool.take_filled(&vec![3; SNAPLEN + 100]).unwrap());
        assert_eq!(port.transmit(&mut pool, &mut batch), 3);
        assert_eq!((recorder.lost(), recorder.take_error()), (0, None));
        drop(recorder);
        assert_eq!(lengths(&folder.join("s1-eth1_in.pcap")), [(60, 60), (61, 61)]);
        assert_eq!(lengths(&folder.join("s1-eth1_out.pcap")), [(60, 60), (61, 61), (SNAPLEN as u32 + 100, SNAPLEN)]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_worker_does_not_wait_for_the_writer() {
        let folder = folder("lost");
        let recorder = Recorder::new(&folder).unwrap();
        let (port, _wire) = MemoryPort::new("p");
        let mut port = recorder.attach("p", vec![Box::new(port)]).unwrap().remove(0);
        let mut pool = Pool::new(8, FrameSize::JUMBO).unwrap();
        // The writer cannot go on.
        let files = lock(&recorder.shared.files);
        for _ in 0..BUFFERS + 100 {
            let mut batch = vec![pool.take_filled(&[0; 60]).unwrap()];
            port.transmit(&mut pool, &mut batch);
        }
        drop(files);
        assert_eq!(recorder.lost(), 100);
        drop(recorder);
        assert_eq!(lengths(&folder.join("p_out.pcap")).len(), BUFFERS);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_cannot_be_recorded_is_an_error() {
        let folder = folder("errors");
        assert!(matches!(Recorder::new(&folder.join("none")), Err(CaptureError::NoFolder(_))));
        let recorder = Recorder::new(&folder).unwrap();
        assert!(matches!(recorder.attach("no/such", Vec::new()), Err(CaptureError::File { .. })));
        drop(recorder);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
