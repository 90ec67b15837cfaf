//! Network devices.

use hopwright_dataplane::{Pool, Port, Switch};
use hopwright_ports::{DeviceError, FrameMatch, Opener, Reception, Wanted};

use super::{PortSource, Source};
use crate::RunError;

pub(crate) use hopwright_ports::PortChoice as Choice;

/// The longest network-layer packet that devices carry, in bytes.
const MTU: u32 = 9100;

/// A network device, by its name: `Device::new("eth0")`.
///
/// The switch takes every frame that the device receives. Opening it needs CAP_NET_RAW, and CAP_NET_ADMIN and CAP_BPF for AF_XDP. Which
/// of the two opens devices is up to [`SwitchBuilder::devices_by`](crate::SwitchBuilder::devices_by).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device(String);

impl Device {
    /// The device of this name in the network namespace of the thread that runs the switch.
    pub fn new(name: impl Into<String>) -> Device {
        Device(name.into())
    }
}

impl From<Device> for PortSource {
    fn from(Device(name): Device) -> PortSource {
        PortSource(Source::Device(name))
    }
}

/// Keeps devices receiving what is sent to others than themselves.
pub(crate) type Receiving = Vec<Reception>;

/// Open ports.
pub(crate) struct Opened {
    /// Packet buffers that suit the devices; none if there are no devices.
    pub pools: Vec<Pool>,
    /// By port number.
    pub ports: Vec<(u32, Box<dyn Port>)>,
    devices: Vec<(u32, String)>,
}

impl Opened {
    /// Opens the devices among ports. `headroom` is that of the program.
    pub(crate) fn new(choice: Choice, sources: Vec<(u32, PortSource)>, headroom: u32) -> Result<Opened, RunError> {
        let mut opened = Opened { pools: Vec::new(), ports: Vec::new(), devices: Vec::new() };
        let devices = sources.iter().filter(|(_, source)| matches!(source.0, Source::Device(_))).count();
        let mut opener = None;
        if devices > 0 {
            let (made, pools) = Opener::new(&Wanted { choice, mtu: MTU, headroom, devices, ..Wanted::default() })?;
            (opener, opened.pools) = (Some(made), pools);
        }
        for (number, PortSource(source)) in sources {
            match (source, &opener) {
                (Source::Port(port), _) => opened.ports.push((number, port)),
                (Source::Device(name), Some(opener)) => {
                    let ports = opener.open(&name, &FrameMatch::Everything)?.ports;
                    opened.ports.extend(ports.into_iter().map(|port| (number, port)));
                    opened.devices.push((number, name));
                }
                (Source::Device(_), None) => unreachable!("there is an opener if there are devices"),
            }
        }
        Ok(opened)
    }

    /// Has devices receive what the switch's program gets.
    pub(crate) fn receive(devices: &[(u32, String)], switch: &Switch) -> Result<Receiving, RunError> {
        let receive = |(number, name): &(u32, String)| {
            let mut reception = Reception::open(name)?;
            reception.set(&switch.addresses(*number))?;
            Ok(reception)
        };
        Ok(devices.iter().map(receive).collect::<Result<_, DeviceError>>()?)
    }

    /// The numbers and names of the devices.
    pub(crate) fn devices(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.devices)
    }
}
