//! System calls on sockets, devices and namespaces, with safe signatures.

use std::ffi::CString;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::filter::Filter;
use crate::linux::closing::SlowToClose;

/// Constants that the libc crate lacks on some targets.
pub(crate) const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Creates a packet socket, which is not bound and receives nothing yet.
pub(crate) fn packet_socket() -> io::Result<SlowToClose> {
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) }.into())
}

fn raw_socket(family: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
    // SAFETY: a new descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Creates a socket that receives ICMP "fragmentation needed" messages, with their IPv4 headers.
pub(crate) fn icmp_socket() -> io::Result<OwnedFd> {
    const ICMP_FILTER: libc::c_int = 1;
    const DESTINATION_UNREACHABLE: u32 = 3;
    let socket = raw_socket(libc::AF_INET, libc::IPPROTO_ICMP)?;
    set_option(&socket, libc::SOL_RAW, ICMP_FILTER, &!(1u32 << DESTINATION_UNREACHABLE))?;
    attach_filter(&socket, &Filter::fragmentation_needed())?;
    Ok(socket)
}

/// Creates a socket that receives ICMPv6 "packet too big" messages, without IPv6 headers.
pub(crate) fn icmpv6_socket() -> io::Result<OwnedFd> {
    const ICMP6_FILTER: libc::c_int = 1;
    const PACKET_TOO_BIG: u32 = 2;
    let socket = raw_socket(libc::AF_INET6, libc::IPPROTO_ICMPV6)?;
    let mut blocked = [u32::MAX; 8];
    blocked[0] &= !(1 << PACKET_TOO_BIG);
    set_option(&socket, libc::IPPROTO_ICMPV6, ICMP6_FILTER, &blocked)?;
    Ok(socket)
}

/// Returns the index of a network device.
pub(crate) fn interface_index(name: &str) -> io::Result<i32> {
    let c_name = CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: a terminated string.
    let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index as i32) }
}

/// Sets a socket option to a plain value.
pub(crate) fn set_option<T: Copy>(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and size are those of a live value, which the kernel only reads.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const *value).cast(), size_of::<T>() as libc::socklen_t)
    };
    check(result).map(drop)
}

/// Returns whether an option of a socket is on.
pub(crate) fn get_flag(fd: &OwnedFd, level: libc::c_int, name: libc::c_int) -> io::Result<bool> {
    get_number(fd, level, name).map(|value| value != 0)
}

/// Returns an option of a socket that is a number.
pub(crate) fn get_number(fd: &OwnedFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
    check(result).map(|_| value)
}

/// Whether a socket has room for a packet, without waiting.
pub(crate) fn is_writable(fd: &OwnedFd) -> bool {
    let mut events = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one live pollfd.
    let ready = unsafe { libc::poll(&raw mut events, 1, 0) };
    ready > 0 && events.revents & libc::POLLOUT != 0
}

/// Creates a socket for requests to the kernel about devices.
pub(crate) fn netlink_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
    // SAFETY: a new descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends one message. Does not wait.
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of a live slice.
    let result = unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a packet socket can have a device receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Membership {
    Promiscuous,
    AllGroups,
    Group([u8; 6]),
    Station([u8; 6]),
}

/// Joins or leaves.
pub(crate) fn set_membership(fd: &OwnedFd, interface: i32, membership: Membership, join: bool) -> io::Result<()> {
    let (kind, address) = match membership {
        Membership::Promiscuous => (libc::PACKET_MR_PROMISC, None),
        Membership::AllGroups => (libc::PACKET_MR_ALLMULTI, None),
        Membership::Group(address) => (libc::PACKET_MR_MULTICAST, Some(address)),
        Membership::Station(address) => (libc::PACKET_MR_UNICAST, Some(address)),
    };
    let mut request = libc::packet_mreq {
        mr_ifindex: interface,
        mr_type: kind as libc::c_ushort,
        mr_alen: address.map_or(0, |address| address.len() as libc::c_ushort),
        mr_address: [0; 8],
    };
    request.mr_address[..6].copy_from_slice(&address.unwrap_or_default());
    let name = if join { libc::PACKET_ADD_MEMBERSHIP } else { libc::PACKET_DROP_MEMBERSHIP };
    set_option(fd, libc::SOL_PACKET, name, &request)
}

/// Attaches a filter, which replaces the current one.
pub(crate) fn attach_filter(fd: &OwnedFd, filter: &Filter) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program_of(filter))
}

/// A program as the kernel reads it, which points to the filter.
fn program_of(filter: &Filter) -> libc::sock_fprog {
    let instructions = filter.instructions();
    // The kernel copies the program; the layouts are the same.
    libc::sock_fprog { len: instructions.len() as u16, filter: instructions.as_ptr().cast_mut().cast() }
}

/// Binds a packet socket to a device. `protocol` is `libc::ETH_P_ALL` to receive, 0 to send only.
pub(crate) fn bind_packet(fd: &OwnedFd, interface: i32, protocol: i32) -> io::Result<()> {
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = interface;
    // SAFETY: pointer and size are those of a live sockaddr_ll.
    let result = unsafe {
        libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    };
    check(result).map(drop)
}

/// Returns the packets received and dropped since the last call (`PACKET_STATISTICS`).
pub(crate) fn packet_statistics(fd: &OwnedFd) -> io::Result<(u32, u32)> {
    #[repr(C)]
    #[derive(Default)]
    struct Statistics {
        packets: u32,
        drops: u32,
    }
    let mut statistics = Statistics::default();
    let mut length = size_of::<Statistics>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    check(result)?;
    Ok((statistics.packets, statistics.drops))
}

/// Clears and returns a pending error of a socket. While one is pending, `poll` returns at once.
pub(crate) fn take_error(fd: &OwnedFd) -> io::Result<Option<io::Error>> {
    let mut code: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut code).cast(), &raw mut length)
    };
    check(result)?;
    Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
}

/// Attaches to the TAP device with this name in the thread's network namespace, and creates it if there is none.
/// Reading and writing do not block. A `virtio_net_hdr` precedes each frame.
pub(crate) fn tap(name: &str) -> io::Result<OwnedFd> {
    let options = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: a terminated string; the result is checked.
    let fd = check(unsafe { libc::open(c"/dev/net/tun".as_ptr(), options) })?;
    // SAFETY: a new descriptor nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut ifreq = named_request(name)?;
    ifreq.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: TUNSETIFF reads name and flags and writes within the ifreq.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut ifreq) })?;
    Ok(fd)
}

/// Sets what the host may leave to a TAP device: everything that the kernel knows, or nothing.
pub(crate) fn set_tap_offloads(fd: &OwnedFd, yes: bool) -> io::Result<()> {
    // TUN_F_CSUM, _TSO4, _TSO6 and _TSO_ECN; and, since Linux 6.2, _USO4 and _USO6.
    const OLD: libc::c_ulong = 0x0f;
    const NEW: libc::c_ulong = 0x6f;
    let set = |flags: libc::c_ulong| {
        // SAFETY: plain system call on an open descriptor; the argument is a number.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, flags) }).map(drop)
    };
    if yes { set(NEW).or_else(|_| set(OLD)) } else { set(0) }
}

/// Lets a TAP device stay when its descriptor is closed, without carrier.
pub(crate) fn persist(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain system call on an open descriptor; the argument is a number.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETPERSIST, 1) }).map(drop)
}

/// Sets the carrier of a TAP device.
pub(crate) fn set_carrier(fd: &OwnedFd, carrier: bool) -> io::Result<()> {
    let carrier = libc::c_int::from(carrier);
    // SAFETY: TUNSETCARRIER reads a live number.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETCARRIER, &raw const carrier) }).map(drop)
}

/// Reads one frame from a TAP device, truncated to the buffer.
pub(crate) fn read(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a live buffer.
    let result = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Receives one frame from a socket, truncated to the buffer. Does not wait.
pub(crate) fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of a live buffer.
    let result = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn named_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(ifreq)
}

fn interface_request(fd: &OwnedFd, name: &str, request: libc::Ioctl) -> io::Result<libc::ifreq> {
    let mut ifreq = named_request(name)?;
    // SAFETY: the requests used here read the name and write within the ifreq.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut ifreq) })?;
    Ok(ifreq)
}

/// Returns a device's MTU in bytes.
pub(crate) fn mtu(fd: &OwnedFd, name: &str) -> io::Result<u32> {
    let ifreq = interface_request(fd, name, libc::SIOCGIFMTU)?;
    // SAFETY: SIOCGIFMTU filled this member.
    Ok(unsafe { ifreq.ifr_ifru.ifru_mtu } as u32)
}

/// Returns a device's Ethernet address, or `None` if it is not an Ethernet device.
pub(crate) fn mac(fd: &OwnedFd, name: &str) -> io::Result<Option<[u8; 6]>> {
    let ifreq = interface_request(fd, name, libc::SIOCGIFHWADDR)?;
    // SAFETY: SIOCGIFHWADDR filled this member.
    let address = unsafe { ifreq.ifr_ifru.ifru_hwaddr };
    let bytes = std::array::from_fn(|i| address.sa_data[i] as u8);
    Ok((address.sa_family == libc::ARPHRD_ETHER).then_some(bytes))
}

/// Returns whether a device is up and has a link.
pub(crate) fn is_up(fd: &OwnedFd, name: &str) -> io::Result<bool> {
    let ifreq = interface_request(fd, name, libc::SIOCGIFFLAGS)?;
    // SAFETY: SIOCGIFFLAGS filled this member.
    let flags = i32::from(unsafe { ifreq.ifr_ifru.ifru_flags });
    let wanted = libc::IFF_UP | libc::IFF_RUNNING;
    Ok(flags & wanted == wanted)
}

/// Creates a socket for queries about devices.
pub(crate) fn control_socket() -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An `ethtool` request. `value` begins with the command's number.
fn ethtool<T: Copy>(fd: &OwnedFd, name: &str, value: &mut T) -> io::Result<()> {
    // SAFETY: all-zero is a valid ifreq.
    let mut ifreq: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    ifreq.ifr_ifru.ifru_data = (&raw mut *value).cast();
    // SAFETY: the requests used here read and write the struct of their command, which `value` is.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL, &raw mut ifreq) }).map(drop)
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_DRIVER: u32 = 0x03;
const ETHTOOL_STRINGS: u32 = 0x1b;
const ETHTOOL_STRING_COUNTS: u32 = 0x37;
const ETHTOOL_FEATURES: u32 = 0x3a;
const ETHTOOL_CHANNELS: u32 = 0x3c;
/// `ETH_SS_FEATURES`: the string set with the names of features.
const FEATURE_NAMES: u32 = 4;
/// The maximum number of features; Linux has some seventy.
const MOST_FEATURES: usize = 256;

/// Returns the number of a device's receive queues.
pub(crate) fn receive_queues(fd: &OwnedFd, name: &str) -> io::Result<u32> {
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Channels {
        command: u32,
        most: [u32; 4],
        receive: u32,
        transmit: u32,
        other: u32,
        combined: u32,
    }
    let mut channels = Channels { command: ETHTOOL_CHANNELS, ..Channels::default() };
    ethtool(fd, name, &mut channels)?;
    Ok(channels.receive + channels.combined)
}

/// Returns the name of a device's driver.
pub(crate) fn driver(fd: &OwnedFd, name: &str) -> io::Result<String> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Info {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    let mut info = Info { command: ETHTOOL_DRIVER, driver: [0; 32], rest: [0; 160] };
    ethtool(fd, name, &mut info)?;
    let text: Vec<u8> = info.driver.iter().copied().take_while(|b| *b != 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the indices of device features by their names in `ethtool -k`, `None` for those that the kernel does not know.
pub(crate) fn features<const N: usize>(fd: &OwnedFd, name: &str, wanted: &[&str; N]) -> io::Result<[Option<usize>; N]> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Counts {
        command: u32,
        reserved: u32,
        sets: u64,
        count: u32,
    }
    let mut counts = Counts { command: ETHTOOL_STRING_COUNTS, reserved: 0, sets: 1 << FEATURE_NAMES, count: 0 };
    ethtool(fd, name, &mut counts)?;
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Names {
        command: u32,
        set: u32,
        count: u32,
        names: [[u8; 32]; MOST_FEATURES],
    }
    // The kernel writes all names, regardless of how many were requested.
    if counts.sets == 0 || counts.count as usize > MOST_FEATURES {
        return Ok([None; N]);
    }
    let names = [[0; 32]; MOST_FEATURES];
    let mut names = Names { command: ETHTOOL_STRINGS, set: FEATURE_NAMES, count: counts.count, names };
    ethtool(fd, name, &mut names)?;
    let names = &names.names[..counts.count as usize];
    let is = |text: &[u8; 32], wanted: &str| text.iter().take_while(|b| **b != 0).eq(wanted.as_bytes());
    Ok(wanted.map(|wanted| names.iter().position(|text| is(text, wanted))))
}

/// Returns whether features of a device are on. Those without an index are not.
pub(crate) fn active_features<const N: usize>(
    fd: &OwnedFd,
    name: &str,
    wanted: &[Option<usize>; N],
) -> io::Result<[bool; N]> {
    const BLOCKS: usize = MOST_FEATURES / 32;
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Features {
        command: u32,
        blocks: u32,
        // available, requested, active, never_changed
        features: [[u32; 4]; BLOCKS],
    }
    let mut features = Features { command: ETHTOOL_FEATURES, blocks: BLOCKS as u32, features: [[0; 4]; BLOCKS] };
    ethtool(fd, name, &mut features)?;
    let is_on =
        |feature: usize| features.features.get(feature / 32).is_some_and(|block| block[2] >> (feature % 32) & 1 == 1);
    Ok(wanted.map(|feature| feature.is_some_and(is_on)))
}

/// Waits for an RCU grace period, after which no CPU uses a removed map element.
pub(crate) fn wait_for_readers() -> io::Result<()> {
    const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
    // SAFETY: plain system call.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns whether a device has IP addresses other than link-local ones.
pub(crate) fn is_used_by_kernel(name: &str) -> bool {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: writes the list's head into a local.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return false;
    }
    let mut found = false;
    let mut next = first;
    // SAFETY: the list's elements, their names and addresses live until it is freed below.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: as above; a name ends with zero.
        let device = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) };
        // SAFETY: as above; an address is null or at least has its family.
        let family = unsafe { entry.ifa_addr.as_ref() }.map_or(0, |a| i32::from(a.sa_family));
        if device.to_bytes() == name.as_bytes() {
            found |= match family {
                libc::AF_INET => true,
                libc::AF_INET6 => {
                    // SAFETY: an address of this family has this type.
                    let address = unsafe { *entry.ifa_addr.cast::<libc::sockaddr_in6>() };
                    let octets = address.sin6_addr.s6_addr;
                    !(octets[0] == 0xfe && octets[1] & 0xc0 == 0x80)
                }
                _ => false,
            };
        }
        next = entry.ifa_next;
    }
    // SAFETY: made by getifaddrs, freed once.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// How a fanout group chooses the socket of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fanout {
    /// By the kernel's hash of addresses and ports.
    Hash = 0,
    /// By the program of [`set_fanout_program`]; the first socket until there is one.
    Program = 6,
}

/// Adds a packet socket to a fanout group, whose members share what a device receives. `group` is the group's
/// id, or `None` to create one. Returns the id.
pub(crate) fn join_group(fd: &OwnedFd, group: Option<u16>, fanout: Fanout) -> io::Result<u16> {
    const PACKET_FANOUT_FLAG_UNIQUEID: u32 = 0x2000;
    let (number, flags) = match group {
        Some(number) => (number, 0),
        None => (0, PACKET_FANOUT_FLAG_UNIQUEID),
    };
    let value = u32::from(number) | (fanout as u32 | flags) << 16;
    set_option(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &value)?;
    let mut value = 0u32;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_FANOUT,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    check(result)?;
    Ok(value as u16)
}

/// Sets the program that chooses the socket of a packet, for the whole fanout group of a packet socket. The socket's number is the
/// result modulo the number of sockets. The kernel waits until no CPU uses the previous program.
pub(crate) fn set_fanout_program(fd: &OwnedFd, program: &Filter) -> io::Result<()> {
    const PACKET_FANOUT_DATA: libc::c_int = 22;
    set_option(fd, libc::SOL_PACKET, PACKET_FANOUT_DATA, &program_of(program))
}

/// Sets the program that chooses the socket of a datagram, for all UDP sockets that share an address with this one. The result is
/// the socket's number, in the order in which the sockets were bound.
pub(crate) fn set_socket_program(fd: &OwnedFd, program: &Filter) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, &program_of(program))
}

/// Has the kernel choose among UDP sockets that share an address by its hash of the sender's address and port.
pub(crate) fn detach_socket_program(fd: &OwnedFd) -> io::Result<()> {
    const SO_DETACH_REUSEPORT_BPF: libc::c_int = 68;
    set_option(fd, libc::SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &(0 as libc::c_int))
}

/// Lets other sockets of this user be bound to a UDP socket's address ([`bind_beside`]).
pub(crate) fn share_address(fd: &OwnedFd) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, &(1 as libc::c_int))
}

/// Binds another UDP socket to the address of one that shares it.
pub(crate) fn bind_beside(fd: &OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut address: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into a live value.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length) })?;
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain system call; the result is checked.
    let beside = check(unsafe { libc::socket(address.ss_family.into(), kind, 0) })?;
    // SAFETY: a new descriptor nobody else owns.
    let beside = unsafe { OwnedFd::from_raw_fd(beside) };
    share_address(&beside)?;
    // SAFETY: the kernel reads the `length` bytes that it has written above.
    check(unsafe { libc::bind(beside.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(beside)
}

/// Detaches a socket's filter.
pub(crate) fn detach_filter(fd: &OwnedFd) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &(0 as libc::c_int))
}

/// Creates an epoll descriptor that is readable when any of `members` is. The members must stay open while it is used.
pub(crate) fn poll_group(members: &[RawFd]) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is checked.
    let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: a new descriptor nobody else owns.
    let group = unsafe { OwnedFd::from_raw_fd(fd) };
    members.iter().try_for_each(|member| poll_add(&group, *member, 0))?;
    Ok(group)
}

/// Adds a descriptor to an epoll group. Its events carry `data`.
pub(crate) fn poll_add(group: &OwnedFd, member: RawFd, data: u64) -> io::Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: data };
    // SAFETY: the kernel copies the event.
    check(unsafe { libc::epoll_ctl(group.as_raw_fd(), libc::EPOLL_CTL_ADD, member, &raw mut event) }).map(drop)
}

/// Removes a descriptor from an epoll group.
pub(crate) fn poll_remove(group: &OwnedFd, member: RawFd) -> io::Result<()> {
    let none = std::ptr::null_mut();
    // SAFETY: the kernel reads no event.
    check(unsafe { libc::epoll_ctl(group.as_raw_fd(), libc::EPOLL_CTL_DEL, member, none) }).map(drop)
}

/// A buffer for epoll events.
pub(crate) struct Events<const N: usize>([libc::epoll_event; N]);

impl<const N: usize> Events<N> {
    /// Creates an empty buffer.
    pub(crate) fn new() -> Events<N> {
        Events([libc::epoll_event { events: 0, u64: 0 }; N])
    }

    /// Polls without waiting and returns how many members have input, at most N. The next call reports others.
    pub(crate) fn take(&mut self, group: &OwnedFd) -> usize {
        // SAFETY: the kernel writes at most N events.
        let count = unsafe { libc::epoll_wait(group.as_raw_fd(), self.0.as_mut_ptr(), N as libc::c_int, 0) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Returns the `data` of an event's member.
    pub(crate) fn data(&self, at: usize) -> u64 {
        self.0[at].u64
    }
}

/// Closes the file behind a descriptor and makes the descriptor refer to another file.
pub(crate) fn replace(fd: &OwnedFd, other: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are open; the first stays so, as its owner expects.
    check(unsafe { libc::dup3(other.as_raw_fd(), fd.as_raw_fd(), libc::O_CLOEXEC) }).map(drop)
}

/// Raises the soft limit on open descriptors to the hard limit.
pub(crate) fn allow_descriptors() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes a live value.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads a live value.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}
