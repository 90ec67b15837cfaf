//! A design on a board, whose registers are reached by Etherbone over UDP.
//!
//! The protocol is CERN's, version 1, as LiteX has it: 32-bit addresses of bytes and data, records of writes and reads. Writes have no answer
//! of their own: each datagram ends with a read of the design's status, whose answer says that it has arrived. What is not answered is sent
//! again, and the next one waits for the answer. If only the answer was lost, writes are made twice. That leaves what making them once leaves, since
//! all words of a memory's write are in one datagram; while a ternary entry is written again, packets may miss it.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::ops::Range;
use std::time::{Duration, Instant};

use num_bigint::BigUint;

use crate::driver::{self, Access, Registers};
use crate::map::{MEMORIES, Map, STATUS};

/// The UDP port of Etherbone.
pub const PORT: u16 = 1234;

/// Bytes of a datagram's records, so that it fits a frame.
const MOST_BYTES: usize = 1400;
/// Writes or reads of a record.
const MOST_OF_RECORD: usize = 255;
/// How long an answer may take before the request is sent again, and how often it is sent.
const PATIENCE: Duration = Duration::from_millis(250);
const TRIES: u32 = 20;

/// Magic, version 1; addresses and data of 32 bits.
const HEADER: [u8; 8] = [0x4e, 0x6f, 0x10, 0x44, 0, 0, 0, 0];
/// All four bytes of a word.
const ALL_BYTES: u8 = 0x0f;
/// The flag of a record whose writes all go to one address.
const WRITE_FIFO: u8 = 0x40;

/// A connection to a design on a board.
#[derive(Debug)]
pub struct Etherbone {
    socket: UdpSocket,
    address: SocketAddr,
    /// The number of the last request.
    sequence: u32,
    /// Whether a reset is an error: the driver has begun.
    attached: bool,
    /// There was one.
    lost: bool,
}

impl Etherbone {
    /// Opens a connection to an address, `HOST` or `HOST:PORT`. Whether anybody is there says the first access.
    ///
    /// # Errors
    /// The name is unknown, or there is no socket.
    pub fn connect(address: &str) -> io::Result<Etherbone> {
        let mut addresses = match address.to_socket_addrs() {
            Ok(addresses) => addresses,
            Err(_) => (address, PORT).to_socket_addrs()?,
        };
        let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address"));
        let address = addresses.next().ok_or_else(unknown)?;
        let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Etherbone { socket, address, sequence: 0, attached: false, lost: false })
    }

    /// Makes writes and then reads; returns what was read.
    fn request(&mut self, writes: &[(u32, u32)], reads: &[u32]) -> io::Result<Vec<u32>> {
        let mut rest = writes;
        loop {
            let (records, taken) = records(rest);
            rest = &rest[taken..];
            if rest.is_empty() && records.len() + 4 * reads.len() <= MOST_BYTES {
                return self.exchange(records, reads);
            }
            self.exchange(records, &[])?;
        }
    }

    /// Sends a datagram with these records and reads behind them, until it is answered.
    fn exchange(&mut self, mut records: Vec<u8>, reads: &[u32]) -> io::Result<Vec<u32>> {
        debug_assert!(reads.len() < MOST_OF_RECORD);
        self.sequence = self.sequence.wrapping_add(1);
        records.extend([0, ALL_BYTES, 0, reads.len() as u8 + 1]);
        records.extend(self.sequence.to_be_bytes());
        for address in [STATUS].iter().chain(reads) {
            records.extend(address.to_be_bytes());
        }
        let datagram = [&HEADER[..], &records].concat();
        let mut buffer = [0; 2048];
        for _ in 0..TRIES {
            if self.lost {
                break;
            }
            match self.socket.send(&datagram) {
                // Somebody has said that nobody is there; perhaps somebody will be.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                sent => drop(sent?),
            }
            let sent = Instant::now();
            while sent.elapsed() < PATIENCE {
                let length = match self.socket.recv(&mut buffer) {
                    Ok(length) => length,
                    Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                        std::thread::sleep(PATIENCE / 10);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let Some(words) = answer(&buffer[..length], self.sequence, reads.len() + 1) else { continue };
                self.lost = self.lost || (self.attached && words[0] & 1 != 0);
                if self.lost {
                    break;
                }
                return Ok(words[1..].to_vec());
            }
        }
        if self.lost {
            let message =
                format!("the board at {} has been reset: its tables are not those of this driver", self.address);
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, message));
        }
        let message = format!("no answer from the board at {}", self.address);
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }
}

/// The records of the first of these writes, as many as fit a datagram, and how many they are. They end where a memory or an object has been written:
/// the words of its data come in front of its address.
fn records(writes: &[(u32, u32)]) -> (Vec<u8>, usize) {
    let mut found = (Vec::new(), 0);
    let ends = writes.iter().enumerate().filter(|(_, (address, _))| *address >= MEMORIES).map(|(at, _)| at + 1);
    for end in ends.chain([writes.len()]) {
        let bytes = encoded(&writes[..end]);
        if bytes.len() > MOST_BYTES && found.1 > 0 {
            break;
        }
        found = (bytes, end);
    }
    found
}

/// The records of writes. Those to addresses one after the other are one record, and so are those to the same one.
fn encoded(writes: &[(u32, u32)]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), writes);
    while let Some(&(base, _)) = rest.first() {
        let run = |step: u32| {
            let follows = |(i, (address, _)): &(usize, &(u32, u32))| *address == base.wrapping_add(step * *i as u32);
            rest.iter().enumerate().take_while(follows).take(MOST_OF_RECORD).count()
        };
        let (same, ascending) = (run(0), run(4));
        let (flags, count) = if same > ascending { (WRITE_FIFO, same) } else { (0, ascending) };
        bytes.extend([flags, ALL_BYTES, count as u8, 0]);
        bytes.extend(base.to_be_bytes());
        bytes.extend(rest[..count].iter().flat_map(|(_, data)| data.to_be_bytes()));
        rest = &rest[count..];
    }
    bytes
}

/// The words of the answer with this number, if that is what a datagram is.
fn answer(datagram: &[u8], sequence: u32, count: usize) -> Option<Vec<u32>> {
    let record = datagram.strip_prefix(&HEADER[..4])?.get(4..)?;
    let (head, rest) = record.split_at_checked(8)?;
    let words: Vec<u32> =
        rest.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]])).collect();
    (head[2] as usize == count && head[4..] == sequence.to_be_bytes() && words.len() >= count)
        .then(|| words[..count].to_vec())
}

impl Registers for Etherbone {
    fn read(&mut self, addresses: &[u32]) -> io::Result<Vec<u32>> {
        let mut words = Vec::new();
        for part in addresses.chunks(128) {
            words.extend(self.request(&[], part)?);
        }
        Ok(words)
    }

    fn access(&mut self, accesses: &[Access]) -> io::Result<()> {
        let mut writes = Vec::new();
        for access in accesses {
            match access {
                Access::Write { address, data } => writes.push((*address, *data)),
                Access::Wait { address } => {
                    let waiting = std::mem::take(&mut writes);
                    let mut busy = self.request(&waiting, &[*address])?;
                    while busy[0] & 1 != 0 {
                        busy = self.request(&[], &[*address])?;
                    }
                }
            }
        }
        if writes.is_empty() { Ok(()) } else { self.request(&writes, &[]).map(drop) }
    }

    fn cells(&mut self, map: &Map, object: usize, cells: Range<u64>) -> io::Result<Vec<BigUint>> {
        let words = map.objects[object].bits.div_ceil(32);
        let mut values = Vec::new();
        for cell in cells {
            let (address, index) = driver::read_object(object, cell as u32);
            let mut wanted = vec![address];
            wanted.extend((0..words).map(|i| 4 * i));
            let mut read = self.request(&[(address, index)], &wanted)?;
            while read[0] & 1 != 0 {
                read = self.request(&[], &wanted)?;
            }
            values.push(BigUint::from_slice(&read[1..]));
        }
        Ok(values)
    }

    fn attach(&mut self, map: &Map) -> io::Result<()> {
        (self.attached, self.lost) = (false, false);
        let place = format!("the board at {}", self.address);
        driver::identify(self, map, &place)?;
        // A reset from here on is one that the driver does not expect.
        self.attached = true;
        self.access(&driver::clear(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_in_a_row_are_one_record() {
        let writes = [(0, 1), (4, 2), (8, 3), (0x1000, 7), (0x1000, 8), (0x1000, 9), (0, 5)];
        let (bytes, count) = records(&writes);
        let first = [0, 15, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        let second = [0x40, 15, 3, 0, 0, 0, 0x10, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9];
        let third = [0, 15, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5];
        assert_eq!((bytes, count), ([&first[..], &second, &third].concat(), 7));
    }

    #[test]
    fn datagrams_fit_a_frame_and_end_with_a_write_to_a_memory() {
        let writes: Vec<(u32, u32)> =
            (0..2100).map(|i| (if i % 3 == 2 { 0x1000 + i / 700 * 4 } else { i % 3 * 4 }, i)).collect();
        let mut rest = &writes[..];
        let mut seen = Vec::new();
        while !rest.is_empty() {
            let (bytes, count) = records(rest);
            assert!(count > 0 && bytes.len() <= MOST_BYTES && rest[count - 1].0 >= MEMORIES);
            let mut words = bytes.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap()));
            while let Some(head) = words.next() {
                let (base, step) = (words.next().unwrap(), if head >> 24 == 0x40 { 0 } else { 4 });
                seen.extend((0..head >> 8 & 0xff).map(|i| (base + step * i, words.next().unwrap())));
            }
            rest = &rest[count..];
        }
        assert_eq!(seen, writes);
    }
}
