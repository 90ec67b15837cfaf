//! The `bpf(2)` commands that the redirect program needs: maps, loading and attaching. Every object is owned by a
//! descriptor and nothing is pinned, so nothing outlives the process.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::assembler::Instruction;

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE: libc::c_long = 2;
const MAP_DELETE: libc::c_long = 3;
const PROGRAM_LOAD: libc::c_long = 5;
const PROGRAM_TEST_RUN: libc::c_long = 10;
const LINK_CREATE: libc::c_long = 28;
const LINK_DETACH: libc::c_long = 34;

const PROGRAM_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `BPF_F_NO_PREALLOC`
const NO_PREALLOCATION: u32 = 1;
/// `BPF_F_XDP_HAS_FRAGS`: the program can process packets of several buffers.
const PROGRAM_HAS_FRAGMENTS: u32 = 1 << 5;

/// The kinds of maps used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapKind {
    Hash = 1,
    /// AF_XDP sockets, indexed by receive queue.
    Sockets = 17,
}

/// How a program is attached to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachMode {
    /// `XDP_FLAGS_SKB_MODE`: the kernel's stack runs the program, for any device.
    Generic = 1 << 1,
    /// `XDP_FLAGS_DRV_MODE`: the driver runs the program.
    Native = 1 << 2,
}

/// # Safety
/// `attributes` is what the command expects, and pointers in it refer to live memory of the sizes it states.
unsafe fn bpf<T>(command: libc::c_long, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: pointer and size of a live value; the caller guarantees the rest.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: libc::c_long) -> OwnedFd {
    // SAFETY: commands that create an object return a new descriptor, which is closed on exec.
    unsafe { OwnedFd::from_raw_fd(fd as RawFd) }
}

fn short_name(name: &str) -> [u8; 16] {
    let mut out = [0; 16];
    for (to, from) in out[..15].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    out
}

/// A BPF map.
#[derive(Debug)]
pub(super) struct Map {
    fd: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

impl Map {
    pub(super) fn new(kind: MapKind, name: &str, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Map> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            entries: u32,
            flags: u32,
            inner: u32,
            numa_node: u32,
            name: [u8; 16],
        }
        let mut attributes = Attributes {
            kind: kind as u32,
            key_bytes,
            value_bytes,
            entries,
            // Makes a hash map allocate memory as it fills.
            flags: if kind == MapKind::Hash { NO_PREALLOCATION } else { 0 },
            inner: 0,
            numa_node: 0,
            name: short_name(name),
        };
        // SAFETY: as the command expects; no pointers.
        let fd = owned(unsafe { bpf(MAP_CREATE, &mut attributes) }?);
        Ok(Map { fd, key_bytes: key_bytes as usize, value_bytes: value_bytes as usize })
    }

    /// The map of a predecessor, whose keys and values have these lengths.
    pub(super) fn inherited(fd: OwnedFd, key_bytes: usize, value_bytes: usize) -> Map {
        Map { fd, key_bytes, value_bytes }
    }

    /// Returns a duplicate of the descriptor, for a successor.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    fn change(&self, command: libc::c_long, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        if key.len() != self.key_bytes || value.is_some_and(|v| v.len() != self.value_bytes) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attributes = Attributes {
            map: self.fd.as_raw_fd() as u32,
            padding: 0,
            key: key.as_ptr() as u64,
            value: value.map_or(0, |v| v.as_ptr() as u64),
            flags: 0,
        };
        // SAFETY: as the commands expect; key and value are as long as the map's, which was just checked.
        unsafe { bpf(command, &mut attributes) }.map(drop)
    }

    /// Inserts or replaces an element.
    pub(super) fn put(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.change(MAP_UPDATE, key, Some(value))
    }

    /// Removes an element.
    pub(super) fn remove(&self, key: &[u8]) -> io::Result<()> {
        self.change(MAP_DELETE, key, None)
    }

    /// The number by which a program refers to the map.
    pub(super) fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }
}

/// Loads an XDP program. `fragments` says that it accepts packets of several buffers.
pub(super) fn load(code: &[Instruction], name: &str, fragments: bool) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        device: u32,
        expected_attach: u32,
    }
    let mut attributes = Attributes {
        kind: PROGRAM_TYPE_XDP,
        count: code.len() as u32,
        code: code.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: if fragments { PROGRAM_HAS_FRAGMENTS } else { 0 },
        name: short_name(name),
        device: 0,
        expected_attach: ATTACH_XDP,
    };
    // SAFETY: as the command expects; `code` has `count` instructions and the license ends with zero.
    unsafe { bpf(PROGRAM_LOAD, &mut attributes) }.map(owned)
}

/// Attaches a program to a device until the returned descriptor is closed.
pub(super) fn attach(program: &OwnedFd, device: u32, mode: AttachMode) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program: u32,
        device: u32,
        attach: u32,
        flags: u32,
    }
    let mut attributes =
        Attributes { program: program.as_raw_fd() as u32, device, attach: ATTACH_XDP, flags: mode as u32 };
    // SAFETY: as the command expects; no pointers.
    unsafe { bpf(LINK_CREATE, &mut attributes) }.map(owned)
}

/// Detaches a program from its device, whoever else has a descriptor of the link. Kernels before 5.9 do not know the command: there the
/// program is detached when the last descriptor is closed.
pub(super) fn detach(link: &OwnedFd) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        link: u32,
    }
    // SAFETY: as the command expects; no pointers.
    unsafe { bpf(LINK_DETACH, &mut Attributes { link: link.as_raw_fd() as u32 }) }.map(drop)
}

/// Runs a program on a frame without a device, and returns its result.
#[cfg_attr(not(test), allow(dead_code))]
pub(super) fn test_run(program: &OwnedFd, frame: &[u8]) -> io::Result<u32> {
    #[repr(C)]
    struct Attributes {
        program: u32,
        result: u32,
        bytes_in: u32,
        bytes_out: u32,
        data_in: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
    }
    let mut attributes = Attributes {
        program: program.as_raw_fd() as u32,
        result: 0,
        bytes_in: frame.len() as u32,
        bytes_out: 0,
        data_in: frame.as_ptr() as u64,
        data_out: 0,
        repeat: 1,
        duration: 0,
    };
    // SAFETY: as the command expects; the kernel reads `bytes_in` bytes of the frame and writes none back.
    unsafe { bpf(PROGRAM_TEST_RUN, &mut attributes) }?;
    Ok(attributes.result)
}
