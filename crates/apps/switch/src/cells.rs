//! Counters and registers of a program, as one process hands them over to another.

use hopwright_dataplane::{Count, VirtualDataPlane};
use hopwright_ir::{ExternId, ExternKind};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// Those that are not zero, by name and index. Cells of entries are not among them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cells {
    counters: Vec<Array<(u64, u64)>>,
    registers: Vec<Array<Vec<u8>>>,
}

/// The name of an object, and its cells by index: packets and bytes, or the bytes of a number, the lowest first.
type Array<T> = (String, Vec<(u64, T)>);

impl Cells {
    pub(crate) fn of(vdp: &VirtualDataPlane) -> Cells {
        let (pipeline, control) = (vdp.pipeline(), vdp.control());
        let mut cells = Cells::default();
        for (at, object) in pipeline.externs.iter().enumerate() {
            let (id, name) = (ExternId(at as u32), object.name.clone());
            if let Ok(counter) = control.counter(id) {
                let all = counter.read_all().into_iter().enumerate();
                let counted = all.filter(|(_, count)| *count != Count::default());
                cells.counters.push((name, counted.map(|(index, c)| (index as u64, (c.packets, c.bytes))).collect()));
                continue;
            }
            let of_entries = pipeline.tables.iter().any(|table| table.entry_cells.contains(&id));
            if let (ExternKind::Register { size, .. }, Ok(register), false) =
                (&object.kind, control.register(id), of_entries)
            {
                let all = (0..*size).map_while(|index| Some((index, register.read(index).ok()?)));
                let set = all.filter(|(_, value)| *value != BigUint::ZERO);
                cells.registers.push((name, set.map(|(index, value)| (index, value.to_bytes_le())).collect()));
            }
        }
        cells
    }

    /// Writes them to a program, as far as it has them.
    pub(crate) fn write(&self, vdp: &VirtualDataPlane) {
        let control = vdp.control();
        for (name, cells) in &self.counters {
            let Ok(counter) = control.counter(name.as_str()) else { continue };
            for (index, (packets, bytes)) in cells {
                let _ = counter.write(*index, Count { packets: *packets, bytes: *bytes });
            }
        }
        for (name, cells) in &self.registers {
            let Ok(register) = control.register(name.as_str()) else { continue };
            for (index, value) in cells {
                let _ = register.write(*index, BigUint::from_bytes_le(value));
            }
        }
    }
}
