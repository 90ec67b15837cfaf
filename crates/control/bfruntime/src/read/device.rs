//! What a device is like, as its one entry says.

use hopwright_p4runtime::Device;

use crate::proto::{TableData, data_field::Value};
use crate::schema::Ty;
use crate::schema::fixed::device as field;
use crate::state::State;
use crate::value::{field as data_field, merged, numbers, numeric};
use crate::write::LEARN_TIMEOUT;

/// Ports of a pipe that lead back to it, on Tofino and on Tofino 2.
const RECIRCULATION: [std::ops::Range<u32>; 2] = [68..72, 6..8];
/// Ports of pipe 0 to which CPUs may be attached by Ethernet.
const ETHERNET_CPU: [std::ops::Range<u32>; 2] = [64..68, 2..6];
/// Ports of a pipe.
const PORTS: u32 = 72;

/// The settings of a device, and what it has.
pub(super) fn settings(state: &State, device: &Device) -> TableData {
    let schema = &state.schema;
    let (pipes, generation) = (schema.pipes, schema.generation.unwrap_or_default());
    let which = usize::from(generation.device == "tf2");
    let tenant = device.tenant();
    let all: Vec<u32> = tenant.ports().iter().map(|port| port.number).collect();
    let is_cpu = |port: &u32| ETHERNET_CPU[which].contains(port);
    let recirculation: Vec<u32> =
        (0..pipes).flat_map(|pipe| RECIRCULATION[which].clone().map(move |port| pipe << 7 | port)).collect();
    let cpu: Vec<u32> = all.iter().copied().filter(is_cpu).collect();
    let external: Vec<u32> = all.iter().copied().filter(|port| !is_cpu(port)).collect();
    let word = |id, value: u32| numeric(id, Ty::Uint(32), &value.into());
    let known = vec![
        data_field(field::SKU, Value::StrVal("UNKNOWN".into())),
        word(field::PIPES, pipes),
        word(field::STAGES, generation.stages),
        word(field::MOST_PORTS, pipes * PORTS),
        word(field::FRONT_PORTS, external.len() as u32),
        word(field::PCIE_CPU_PORT, tenant.cpu_port().unwrap_or(0)),
        numbers(field::ETHERNET_CPU_PORTS, cpu),
        numbers(field::INTERNAL_PORTS, recirculation.clone()),
        numbers(field::EXTERNAL_PORTS, external),
        numbers(field::RECIRCULATION_PORTS, recirculation),
        data_field(field::LINK_INTERRUPTS, Value::BoolVal(false)),
        data_field(field::LEARN_INTERRUPTS, Value::BoolVal(false)),
        word(field::LEARN_DRAIN_TIMEOUT, 0),
        word(field::LEARN_TIMEOUT, LEARN_TIMEOUT),
        data_field(field::INACTIVE_NODE_DELETE, Value::BoolVal(false)),
        data_field(field::SELECTOR_MEMBER_ORDER, Value::BoolVal(false)),
    ];
    TableData { action_id: 0, fields: merged(Some(&known), state.device.clone()) }
}
