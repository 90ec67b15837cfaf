//! Devices receive frames to addresses that are asked for, and are promiscuous only for want of a list.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::devices::{PATIENCE, ip, with_devices};
use hopwright_dataplane::Addresses;
use hopwright_ports::Reception;

fn output(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const OWN: &str = "02:00:00:00:00:77";

/// Whether `mv0`, whose driver filters by address, is promiscuous, takes every group, and the further addresses it has.
fn state() -> (bool, bool, Vec<String>) {
    let link = output("ip -d link show mv0");
    let has = |counter: &str| !link.contains(&format!("{counter} 0 "));
    let table = output("bridge fdb show dev mv0");
    let further = table.lines().filter_map(|line| line.split(' ').next());
    let further = further.filter(|address| *address != OWN && address.starts_with("02:")).map(String::from);
    (has("promiscuity"), has("allmulti"), further.collect())
}

#[test]
fn a_device_receives_what_is_asked_for() {
    with_devices(|| {
        ip(&format!("link add link va name mv0 address {OWN} type macvlan"));
        ip("link set mv0 up");
        let nothing = (false, false, Vec::new());
        assert_eq!(state(), nothing);
        let mut reception = Reception::open("mv0").unwrap();
        assert_eq!(state(), nothing);
        let station = [2, 0, 0, 0, 1, 7];
        let group = [1, 0, 0x5e, 0, 0, 0x55];
        let some = Addresses { exact: [station, group].into(), ..Addresses::default() };
        reception.set(&some).unwrap();
        assert_eq!(state(), (false, false, vec!["02:00:00:00:01:07".into()]));
        assert!(output("ip maddress show dev mv0").contains("01:00:5e:00:00:55"));
        reception.set(&Addresses { groups: true, exact: [[2, 0, 0, 0, 1, 8]].into(), ..Addresses::default() }).unwrap();
        assert_eq!(state(), (false, true, vec!["02:00:00:00:01:08".into()]));
        reception.set(&Addresses { every: true, ..some }).unwrap();
        assert_eq!(state(), (true, false, Vec::new()));
        drop(reception);
        let deadline = Instant::now() + PATIENCE;
        while state() != nothing {
            assert!(Instant::now() < deadline, "{:?}", state());
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Reception::open("no-such-device").is_err());
    });
}
