//! The XDP program that redirects matching frames to AF_XDP sockets and passes all others to the kernel.
//!
//! The program is assembled here, loaded with `bpf(2)` and attached by a link that a descriptor of this process owns.
//! It is therefore detached when the process ends, however that happens. The match is in a map, so it can change while
//! frames flow.
//!
//! Devices share the program, and the map's keys contain the device. The kernel waits for an RCU grace period, and holds
//! the lock of all network devices meanwhile, when it attaches a program that no device has, and when it detaches one
//! from the last device that has it (`bpf_dispatcher_change_prog`). With a program each, a hundred devices would take
//! seconds to open. Only programs that take every frame have no keys, and are not shared.

use std::collections::HashSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::assembler::{Assembler, Instruction, Label, R0, R1, R2, R3, R4, R6, R7, R8, R9, STACK, When, Width};
use super::bpf::{self, AttachMode, Map, MapKind};
use crate::filter::{FrameMatch, Pattern};
use crate::linux::closing::SlowToClose;

/// The maximum number of keys of all devices that share a program.
pub const MAX_KEYS: u32 = 1 << 18;
/// The maximum number of receive queues of a device.
pub const MAX_QUEUES: u32 = 256;
/// The maximum number of receive queues of all devices that share a program.
const MAX_SOCKETS: u32 = 1 << 14;

/// The length of the Ethernet header.
const ETHERNET: i16 = 14;
const HELPER_LOOKUP: i32 = 1;
const HELPER_REDIRECT_MAP: i32 = 51;
/// Offsets of the device's index and of the receive queue in the program's argument (`struct xdp_md`).
const DEVICE: i16 = 12;
const RECEIVE_QUEUE: i16 = 16;
/// `XDP_PASS`: passes the frame to the kernel.
const PASS: i32 = 2;

/// Length of a UDP destination's key: the address (IPv4 after twelve zeros), the port, the IP version, a zero byte, the
/// device's index, its Ethernet address, two zero bytes.
const KEY: usize = 32;
/// Length of an EtherType's key: the type, two zero bytes, the device's index, its Ethernet address or zeros for frames to
/// groups, two zero bytes.
const SHORT_KEY: usize = 16;
/// Length of a key's value: where the device's sockets begin in their map, and their number.
const VALUE: u32 = 8;

fn destination_key(device: u32, mac: [u8; 6], address: IpAddr, port: u16) -> Vec<u8> {
    let mut key = vec![0; KEY];
    match address {
        IpAddr::V4(a) => key[12..16].copy_from_slice(&a.octets()),
        IpAddr::V6(a) => key[..16].copy_from_slice(&a.octets()),
    }
    key[16..18].copy_from_slice(&port.to_be_bytes());
    key[18] = if address.is_ipv4() { 4 } else { 6 };
    key[20..24].copy_from_slice(&device.to_ne_bytes());
    key[24..30].copy_from_slice(&mac);
    key
}

fn type_key(device: u32, mac: [u8; 6], ether_type: u16) -> Vec<u8> {
    let mut key = vec![0; SHORT_KEY];
    key[..2].copy_from_slice(&ether_type.to_be_bytes());
    key[4..8].copy_from_slice(&device.to_ne_bytes());
    key[8..14].copy_from_slice(&mac);
    key
}

/// Returns what a load on this machine reads from a 16-bit field in network byte order.
fn wire16(value: u16) -> i32 {
    i32::from(u16::from_ne_bytes(value.to_be_bytes()))
}

/// What a frame's key consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatchBy {
    Everything,
    EtherType,
    UdpDestination,
}

impl MatchBy {
    fn of(frames: &FrameMatch) -> MatchBy {
        match frames {
            FrameMatch::Everything => MatchBy::Everything,
            FrameMatch::EtherTypes(_) => MatchBy::EtherType,
            FrameMatch::UdpDestinations(_) => MatchBy::UdpDestination,
        }
    }
}

/// Returns the keys of a device's match.
fn keys(device: u32, mac: [u8; 6], frames: &FrameMatch) -> Vec<Vec<u8>> {
    match frames {
        FrameMatch::Everything => Vec::new(),
        FrameMatch::EtherTypes(types) => {
            types.iter().flat_map(|t| [mac, [0; 6]].map(|to| type_key(device, to, *t))).collect()
        }
        FrameMatch::UdpDestinations(all) => {
            all.iter().map(|(address, port)| destination_key(device, mac, *address, *port)).collect()
        }
    }
}

/// The maps of a program.
#[derive(Debug)]
struct Maps {
    sockets: Map,
    /// The frames that are taken; `None` for all.
    keys: Option<Map>,
}

impl Maps {
    fn new(by: MatchBy) -> io::Result<Maps> {
        let keys = |bytes: usize| Map::new(MapKind::Hash, "hw_keys", bytes as u32, VALUE, MAX_KEYS);
        let (sockets, keys) = match by {
            MatchBy::Everything => (MAX_QUEUES, None),
            MatchBy::EtherType => (MAX_SOCKETS, Some(keys(SHORT_KEY)?)),
            MatchBy::UdpDestination => (MAX_SOCKETS, Some(keys(KEY)?)),
        };
        Ok(Maps { sockets: Map::new(MapKind::Sockets, "hw_sockets", 4, 4, sockets)?, keys })
    }
}

/// Assembles the program. `unserved` is its result for matching frames of a queue without a socket. Frames with the
/// pattern `apart` are passed to the kernel.
fn assemble(maps: &Maps, by: MatchBy, apart: Option<&Pattern>, unserved: i32) -> Vec<Instruction> {
    let mut a = Assembler::new();
    let pass = a.label();
    a.copy(R6, R1);
    if let Some(keys) = &maps.keys {
        match by {
            MatchBy::EtherType => ether_type_key(&mut a, pass),
            _ => destination_key_of(&mut a, pass),
        }
        a.map(R1, keys.number());
        a.call(HELPER_LOOKUP);
        a.jump_if(R0, When::Equal, 0, pass);
        a.copy(R9, R0);
        if let Some(pattern) = apart {
            not_apart(&mut a, pattern, pass);
        }
    }
    a.load(Width::Four, R2, R6, RECEIVE_QUEUE);
    if maps.keys.is_some() {
        a.load(Width::Four, R0, R9, 4);
        a.jump_if_register(R2, When::NotLess, R0, pass);
        a.load(Width::Four, R0, R9, 0);
        a.add_register(R2, R0);
    }
    a.map(R1, maps.sockets.number());
    a.set(R3, unserved);
    a.call(HELPER_REDIRECT_MAP);
    a.exit();
    // The verifier refuses unreachable code.
    if maps.keys.is_some() {
        a.place(pass);
        a.set(R0, PASS);
        a.exit();
    }
    a.finish()
}

/// Stores the device's index and the frame's destination address, or zeros for a group if `groups`, at the end of a key
/// that begins at `key` on the stack. R2 is the frame.
fn device_and_mac(a: &mut Assembler, key: i16, groups: bool) {
    let done = a.label();
    a.load(Width::Four, R0, R6, DEVICE);
    a.store(Width::Four, STACK, key, R0);
    if groups {
        a.store_value(Width::Four, STACK, key + 4, 0);
        a.store_value(Width::Four, STACK, key + 8, 0);
        a.load(Width::One, R0, R2, 0);
        a.and(R0, 1);
        a.jump_if(R0, When::NotEqual, 0, done);
    } else {
        a.store_value(Width::Two, STACK, key + 10, 0);
    }
    a.load(Width::Four, R0, R2, 0);
    a.store(Width::Four, STACK, key + 4, R0);
    a.load(Width::Two, R0, R2, 4);
    a.store(Width::Two, STACK, key + 8, R0);
    a.place(done);
}

/// Makes the key of an untagged frame that carries a UDP datagram, over IPv4 (unfragmented, without options) or IPv6
/// (without extension headers), and leaves its address in R2, that of the UDP header minus the length of the Ethernet
/// header in R7, and the frame's end in R8. Jumps to `pass` for other frames.
fn destination_key_of(a: &mut Assembler, pass: Label) {
    const STACK_KEY: i16 = -(KEY as i16);
    let (v4, look_up) = (a.label(), a.label());
    // R2: the frame, R3: its end. Frames shorter than Ethernet, IPv4 and UDP headers do not match.
    a.load(Width::Four, R2, R1, 0);
    a.load(Width::Four, R3, R1, 4);
    a.copy(R8, R3);
    a.copy(R4, R2);
    a.add(R4, 42);
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.load(Width::Two, R0, R2, 12);
    a.jump_if(R0, When::Equal, wire16(0x0800), v4);
    a.jump_if(R0, When::NotEqual, wire16(0x86dd), pass);

    a.copy(R4, R2);
    a.add(R4, 62);
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.load(Width::One, R0, R2, ETHERNET + 6);
    a.jump_if(R0, When::NotEqual, 17, pass);
    for word in 0..4 {
        a.load(Width::Four, R0, R2, ETHERNET + 24 + 4 * word);
        a.store(Width::Four, STACK, STACK_KEY + 4 * word, R0);
    }
    a.store_value(Width::Two, STACK, STACK_KEY + 18, i32::from(u16::from_ne_bytes([6, 0])));
    a.load(Width::Two, R0, R2, ETHERNET + 40 + 2);
    a.copy(R7, R2);
    a.add(R7, 40);
    a.jump(look_up);

    a.place(v4);
    // Version 4, header without options.
    a.load(Width::One, R0, R2, ETHERNET);
    a.jump_if(R0, When::NotEqual, 0x45, pass);
    a.load(Width::Two, R7, R2, ETHERNET + 6);
    a.and(R7, wire16(0x3fff));
    a.jump_if(R7, When::NotEqual, 0, pass);
    a.load(Width::One, R7, R2, ETHERNET + 9);
    a.jump_if(R7, When::NotEqual, 17, pass);
    a.store_value(Width::Four, STACK, STACK_KEY, 0);
    a.store_value(Width::Four, STACK, STACK_KEY + 4, 0);
    a.store_value(Width::Four, STACK, STACK_KEY + 8, 0);
    a.store_value(Width::Two, STACK, STACK_KEY + 18, i32::from(u16::from_ne_bytes([4, 0])));
    a.load(Width::Four, R7, R2, ETHERNET + 16);
    a.store(Width::Four, STACK, STACK_KEY + 12, R7);
    a.load(Width::Two, R0, R2, ETHERNET + 20 + 2);
    a.copy(R7, R2);
    a.add(R7, 20);

    a.place(look_up);
    a.store(Width::Two, STACK, STACK_KEY + 16, R0);
    device_and_mac(a, STACK_KEY + 20, false);
    a.copy(R2, STACK);
    a.add(R2, i32::from(STACK_KEY));
}

/// Makes the key of a frame by its EtherType, and leaves its address in R2. Jumps to `pass` for frames without one.
fn ether_type_key(a: &mut Assembler, pass: Label) {
    const STACK_KEY: i16 = -(SHORT_KEY as i16);
    // R2: the frame, R3: its end.
    a.load(Width::Four, R2, R1, 0);
    a.load(Width::Four, R3, R1, 4);
    a.copy(R4, R2);
    a.add(R4, i32::from(ETHERNET));
    a.jump_if_register(R4, When::Greater, R3, pass);
    a.load(Width::Two, R0, R2, 12);
    a.store_value(Width::Four, STACK, STACK_KEY, 0);
    a.store(Width::Two, STACK, STACK_KEY, R0);
    device_and_mac(a, STACK_KEY + 4, true);
    a.copy(R2, STACK);
    a.add(R2, i32::from(STACK_KEY));
}

/// Jumps to `pass` if the datagram has the pattern. Agrees with `Filter::divided`.
fn not_apart(a: &mut Assembler, pattern: &Pattern, pass: Label) {
    const PAYLOAD: i16 = ETHERNET + 8;
    let other = a.label();
    let last = pattern.bytes.iter().map(|(at, _)| *at).max().unwrap_or(0);
    a.copy(R4, R7);
    a.add(R4, i32::from(PAYLOAD) + i32::from(last) + 1);
    a.jump_if_register(R4, When::Greater, R8, other);
    for (at, values) in &pattern.bytes {
        let next = a.label();
        a.load(Width::One, R0, R7, PAYLOAD + i16::from(*at));
        for value in values {
            a.jump_if(R0, When::Equal, i32::from(*value), next);
        }
        a.jump(other);
        a.place(next);
    }
    a.jump(pass);
    a.place(other);
}

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// The device's driver runs it.
    Native,
    /// The kernel's stack runs it, on any device.
    Generic,
}

/// A program on a device, which matches UDP destinations or every frame, as one process hands it over to another. It stays attached.
#[derive(Debug)]
pub struct SharedProgram {
    /// How it is attached.
    pub mode: XdpMode,
    /// The link to the device.
    pub link: OwnedFd,
    /// The program.
    pub program: OwnedFd,
    /// The map of sockets.
    pub sockets: OwnedFd,
    /// The map of keys, in which the device has none. None if it matches every frame.
    pub keys: Option<OwnedFd>,
    /// The device's part of the map of sockets: its first place and the number of places.
    pub part: (u32, u32),
}

/// The programs of devices of one network namespace. Devices share them.
#[derive(Debug, Default)]
pub struct Programs(Mutex<Vec<Weak<Program>>>);

impl Programs {
    /// Returns the program for a match, and loads it if no device has it.
    fn get(&self, by: MatchBy, apart: Option<&Pattern>) -> io::Result<Arc<Program>> {
        let mut programs = lock(&self.0);
        programs.retain(|program| program.strong_count() > 0);
        let shared = |program: &Arc<Program>| program.by == by && program.apart.as_ref() == apart;
        if by != MatchBy::Everything
            && let Some(found) = programs.iter().filter_map(Weak::upgrade).find(shared)
        {
            return Ok(found);
        }
        let new = Arc::new(Program::load(by, apart)?);
        programs.push(Arc::downgrade(&new));
        Ok(new)
    }

    /// Returns the program of a predecessor, which all devices share that were taken over.
    fn inherit(
        &self,
        apart: Option<&Pattern>,
        program: OwnedFd,
        sockets: OwnedFd,
        keys: Option<OwnedFd>,
    ) -> Arc<Program> {
        let mut programs = lock(&self.0);
        let by = if keys.is_some() { MatchBy::UdpDestination } else { MatchBy::Everything };
        let shared = |program: &Arc<Program>| program.inherited && program.by == by && program.apart.as_ref() == apart;
        if by != MatchBy::Everything
            && let Some(found) = programs.iter().filter_map(Weak::upgrade).find(shared)
        {
            return found;
        }
        let keys = keys.map(|keys| Map::inherited(keys, KEY, VALUE as usize));
        let maps = Maps { sockets: Map::inherited(sockets, 4, 4), keys };
        let apart = apart.cloned();
        let new = Arc::new(Program { program, by, apart, maps, inherited: true, parts: Mutex::default() });
        programs.push(Arc::downgrade(&new));
        new
    }
}

/// A loaded program.
#[derive(Debug)]
struct Program {
    program: OwnedFd,
    by: MatchBy,
    apart: Option<Pattern>,
    maps: Maps,
    /// Whether a predecessor has loaded it.
    inherited: bool,
    /// The parts of the map of sockets that devices have, each its first place and the number of places, in ascending
    /// order.
    parts: Mutex<Vec<(u32, u32)>>,
}

impl Program {
    fn load(by: MatchBy, apart: Option<&Pattern>) -> io::Result<Program> {
        let maps = Maps::new(by)?;
        let code = assemble(&maps, by, apart, PASS);
        let program = match bpf::load(&code, "hopwright", true) {
            // Kernels before 5.18 do not support packets of several buffers.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => bpf::load(&code, "hopwright", false)?,
            other => other?,
        };
        Ok(Program { program, by, apart: apart.cloned(), maps, inherited: false, parts: Mutex::default() })
    }

    /// Reserves the first free part of the map of sockets that is large enough.
    fn reserve(&self, queues: u32) -> io::Result<u32> {
        let mut parts = lock(&self.parts);
        let mut first = 0;
        let mut at = 0;
        while let Some((other, count)) = parts.get(at).filter(|(other, _)| first + queues > *other) {
            (first, at) = (other + count, at + 1);
        }
        let places = if self.maps.keys.is_some() { MAX_SOCKETS } else { MAX_QUEUES };
        if first + queues > places {
            return Err(io::ErrorKind::StorageFull.into());
        }
        parts.insert(at, (first, queues));
        Ok(first)
    }

    /// Reserves the part that a device has already.
    fn reserve_part(&self, (first, queues): (u32, u32)) -> io::Result<()> {
        let mut parts = lock(&self.parts);
        let overlaps = |&(other, count): &(u32, u32)| first < other + count && other < first + queues;
        if first >= MAX_SOCKETS || queues > MAX_QUEUES || first + queues > MAX_SOCKETS || parts.iter().any(overlaps) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let at = parts.partition_point(|(other, _)| *other < first);
        parts.insert(at, (first, queues));
        Ok(())
    }

    fn give_back(&self, first: u32) {
        lock(&self.parts).retain(|(other, _)| *other != first);
    }
}

/// The program on a device. It is detached when this value is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Redirect {
    program: Arc<Program>,
    device: u32,
    /// The device's part of the map of sockets.
    first: u32,
    queues: u32,
    matched: Mutex<Matched>,
    /// Detaches the program when the last process has closed it.
    link: SlowToClose,
    /// Whether another process has the link, too, or has had it: then the program stays for that one.
    shared: AtomicBool,
}

/// The frames that a device's sockets take.
#[derive(Debug)]
struct Matched {
    /// The device's Ethernet address. Only frames to this address are taken, and for EtherTypes those to groups, too.
    mac: [u8; 6],
    frames: FrameMatch,
}

impl Redirect {
    /// Attaches a program to a device with Ethernet address `mac` and `queues` receive queues. It takes matching frames.
    /// If the match is on UDP destinations, it passes datagrams with the pattern `apart` to the kernel.
    pub(super) fn attach(
        programs: &Programs,
        (device, queues): (u32, u32),
        mac: [u8; 6],
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        mode: XdpMode,
    ) -> io::Result<Redirect> {
        let by = MatchBy::of(frames);
        let program = programs.get(by, apart.filter(|_| by == MatchBy::UdpDestination))?;
        let mode = match mode {
            XdpMode::Native => AttachMode::Native,
            XdpMode::Generic => AttachMode::Generic,
        };
        let link = bpf::attach(&program.program, device, mode)?.into();
        let first = program.reserve(queues)?;
        let matched = Mutex::new(Matched { mac, frames: frames.emptied() });
        let redirect = Redirect { program, device, first, queues, matched, link, shared: AtomicBool::new(false) };
        redirect.change(frames)?;
        Ok(redirect)
    }

    /// Takes over the program that a predecessor has attached to a device, which is as [`Redirect::attach`] would attach it.
    pub(super) fn inherit(
        programs: &Programs,
        (device, queues): (u32, u32),
        mac: [u8; 6],
        frames: &FrameMatch,
        apart: Option<&Pattern>,
        shared: SharedProgram,
    ) -> io::Result<Redirect> {
        let SharedProgram { link, program, sockets, keys, part, .. } = shared;
        let by = if keys.is_some() { MatchBy::UdpDestination } else { MatchBy::Everything };
        if part.1 != queues || MatchBy::of(frames) != by {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let program = programs.inherit(apart, program, sockets, keys);
        program.reserve_part(part)?;
        let matched = Mutex::new(Matched { mac, frames: frames.emptied() });
        let (link, shared) = (link.into(), AtomicBool::new(true));
        let redirect = Redirect { program, device, first: part.0, queues, matched, link, shared };
        redirect.change(frames)?;
        Ok(redirect)
    }

    /// Returns duplicates of the descriptors for a successor, or `None` if it matches EtherTypes.
    pub(super) fn share(&self, mode: XdpMode) -> io::Result<Option<SharedProgram>> {
        let Program { program, by, maps, .. } = &*self.program;
        if *by == MatchBy::EtherType {
            return Ok(None);
        }
        self.shared.store(true, Ordering::Release);
        Ok(Some(SharedProgram {
            mode,
            link: self.link.try_clone()?,
            program: program.try_clone()?,
            sockets: maps.sockets.share()?,
            keys: maps.keys.as_ref().map(Map::share).transpose()?,
            part: (self.first, self.queues),
        }))
    }

    /// Redirects a receive queue's matching frames to a socket until the socket is closed.
    pub(super) fn serve(&self, queue: u32, socket: &OwnedFd) -> io::Result<()> {
        if queue >= self.queues {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.program.maps.sockets.put(&(self.first + queue).to_ne_bytes(), &socket.as_raw_fd().to_ne_bytes())
    }

    /// Passes all frames of a receive queue to the kernel again.
    pub(super) fn unserve(&self, queue: u32) -> io::Result<()> {
        self.program.maps.sockets.remove(&(self.first + queue).to_ne_bytes())
    }

    /// Sets the device's Ethernet address, which may have changed.
    pub(super) fn set_mac(&self, mac: [u8; 6]) -> io::Result<()> {
        let mut matched = lock(&self.matched);
        if matched.mac == mac {
            return Ok(());
        }
        let frames = matched.frames.clone();
        self.replace(&mut matched, Matched { mac, frames })
    }

    /// Changes the match to another one of the same kind. Frames that match both are taken throughout.
    ///
    /// # Errors
    /// The match is of another kind, which needs another program.
    pub(super) fn change(&self, to: &FrameMatch) -> io::Result<()> {
        let mut matched = lock(&self.matched);
        if std::mem::discriminant(&matched.frames) != std::mem::discriminant(to) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mac = matched.mac;
        self.replace(&mut matched, Matched { mac, frames: to.clone() })
    }

    fn replace(&self, matched: &mut Matched, new: Matched) -> io::Result<()> {
        let Some(map) = &self.program.maps.keys else { return Ok(()) };
        let keys_of = |matched: &Matched| keys(self.device, matched.mac, &matched.frames);
        let (before, after) = (keys_of(matched), keys_of(&new));
        *matched = new;
        let (old, new): (HashSet<_>, HashSet<_>) = (before.iter().collect(), after.iter().collect());
        let mut value = [0; VALUE as usize];
        value[..4].copy_from_slice(&self.first.to_ne_bytes());
        value[4..].copy_from_slice(&self.queues.to_ne_bytes());
        for key in new.difference(&old) {
            map.put(key, &value)?;
        }
        for key in old.difference(&new) {
            map.remove(key)?;
        }
        Ok(())
    }
}

impl Drop for Redirect {
    fn drop(&mut self) {
        // Frames go to the kernel from now on, also while the program is being detached.
        let none = lock(&self.matched).frames.emptied();
        let _ = self.change(&none);
        self.program.give_back(self.first);
        // A process that this one is about to start has the descriptor for a moment. The device must be free nevertheless.
        if !self.shared.load(Ordering::Acquire) {
            self.link.close_after(|link| drop(bpf::detach(link)));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
