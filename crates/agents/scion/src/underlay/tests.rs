use super::link_ports::ShortDevice;
use super::*;
use crate::synthetic::brload_links;

fn device(index: u32, name: &str, kind: &str, addresses: &[&str]) -> Device {
    Device {
        index,
        name: name.into(),
        mac: Some([2, 0, 0, 0, 0, index as u8]),
        mtu: 1500,
        up: true,
        running: true,
        kind: kind.into(),
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        ..Device::default()
    }
}

fn map(devices: Vec<Device>) -> BTreeMap<u32, Device> {
    devices.into_iter().map(|device| (device.index, device)).collect()
}

/// The addresses of [`brload_links`]: the internal one, and those of interfaces 2 and 3.
const INTERNAL: &str = "10.123.10.1";
const SECOND: &str = "10.123.2.1";
const THIRD: &str = "10.123.3.1";

fn raw(devices: Vec<Device>, used: &[u32]) -> Vec<(u32, Vec<String>)> {
    let used = used.iter().copied().collect();
    let raw = raw_devices(&map(devices), &[&brload_links()], &used, 1500);
    raw.into_iter().map(|(i, a)| (i, a.iter().map(|(ip, _)| ip.to_string()).collect())).collect()
}

fn texts(addresses: &[&str]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

#[test]
fn raw_ports_and_whose_packets_they_take() {
    let devices = || {
        vec![
            Device { loopback: true, mac: None, ..device(1, "lo", "", &["127.0.0.1"]) },
            device(2, "eth0", "", &[INTERNAL, "10.123.10.99"]),
            device(3, "eth1", "vlan", &[SECOND]),
            device(4, "eth2", "veth", &[THIRD]),
            device(5, "eth3", "", &["10.9.9.9"]),
            device(6, "eth4", "", &[]),
        ]
    };
    // Packets that arrive through another device than the one with the address are the kernel's.
    let own = [(2, texts(&[INTERNAL])), (3, texts(&[SECOND])), (4, texts(&[THIRD]))];
    assert_eq!(raw(devices(), &[]), own);
    // A device that only routes use sends, and takes nothing.
    assert_eq!(raw(devices(), &[1, 2, 6]), [own.to_vec(), vec![(6, vec![])]].concat());
    // An address of the loopback device may be reached through all devices.
    let mut home = devices();
    home[0].addresses.push(INTERNAL.parse().unwrap());
    home[1].addresses.clear();
    home[5].up = false;
    let anywhere = [
        (2, texts(&[INTERNAL])),
        (3, texts(&[INTERNAL, SECOND])),
        (4, texts(&[INTERNAL, THIRD])),
        (5, texts(&[INTERNAL])),
    ];
    let sorted = |mut found: Vec<(u32, Vec<String>)>| {
        found.iter_mut().for_each(|(_, addresses)| addresses.sort());
        found
    };
    assert_eq!(sorted(raw(home, &[])), sorted(anywhere.to_vec()));
}

#[test]
fn strict_arrival() {
    let devices = map(vec![
        Device { loopback: true, mac: None, ..device(1, "lo", "", &["127.0.0.1", THIRD]) },
        device(2, "eth0", "", &[INTERNAL]),
        Device { master: Some(9), ..device(3, "eth1", "", &[SECOND]) },
    ]);
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let mut found = arrival_devices(&devices, &brload_links());
    found.sort();
    let mut wanted = vec![(ip(INTERNAL), vec![2]), (ip(SECOND), vec![3, 9])];
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn devices_without_raw_ports() {
    let bridge = device(9, "br0", "bridge", &[]);
    let vrf = device(10, "red", "vrf", &[]);
    let why = |device: Device| {
        let devices = map(vec![device.clone(), bridge.clone(), vrf.clone()]);
        obstacle(&device, &devices, 1500).unwrap_or_default()
    };
    let plain = || device(2, "x0", "", &[SECOND]);
    assert_eq!(why(plain()), "");
    assert_eq!(why(device(2, "x0", "bridge", &[SECOND])), "");
    assert_eq!(why(Device { master: Some(10), ..plain() }), "", "a VRF leaves its devices their packets");
    assert_eq!(why(Device { master: Some(9), ..plain() }), "x0 is part of the bridge br0");
    assert_eq!(why(Device { mac: None, ..plain() }), "x0 is not an Ethernet device");
    assert_eq!(why(device(2, "x0", "macvlan", &[SECOND])), "x0 is a macvlan device");
    assert!(why(Device { mtu: 9000, ..plain() }).starts_with("the MTU of x0, 9000, is more than the 1500"));
    assert!(why(device(2, "x0", "dummy", &[SECOND])).starts_with("x0 leads nowhere"));
    assert_eq!(raw(vec![device(2, "x0", "macvlan", &[SECOND])], &[2]), []);
}

#[test]
fn what_people_read() {
    let link = LinkPorts {
        index: 1,
        link: "interface 41".into(),
        receive: Carrier::raw("AF_XDP", "eth1"),
        send: Some(Carrier::udp("tun0 is not an Ethernet device".into())),
        short: None,
    };
    let text = "interface 41: receives by AF_XDP on eth1, sends by UDP sockets (tun0 is not an Ethernet device)";
    assert_eq!(link.to_string(), text);
    let short = Some(ShortDevice { name: "tun0".into(), mtu: 1100, needed: 1428 });
    let note = "its longest packets need an MTU of 1428 bytes, tun0 has 1100: the kernel sends them in fragments";
    assert_eq!(LinkPorts { short, ..link }.to_string(), format!("{text}; {note}"));
}
