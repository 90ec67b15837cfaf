//! Counters, meters, registers and field lists.

use hopwright_ir::{ExternKind, FieldList, Type, Unit};

use crate::operand::texts;
use crate::{Reader, Result, error};

/// The most cells of an array.
const MAX_CELLS: u64 = 1 << 32;

impl Reader<'_> {
    /// Reads the arrays of counters, meters and registers.
    pub(crate) fn read_externs(&mut self) -> Result<()> {
        let json = self.json;
        for (at, counter) in json.counter_arrays.iter().enumerate() {
            let kind = match counter.is_direct {
                true => ExternKind::DirectCounter { table: None, unit: Unit::Both },
                false => {
                    let size = cells(counter.size, &format!("counter_arrays[{at}].size"))?;
                    ExternKind::Counter { size, unit: Unit::Both }
                }
            };
            let id = self.add_object(&counter.name, kind);
            self.objects.insert(("counter_array", &counter.name), id);
        }
        for (at, meter) in json.meter_arrays.iter().enumerate() {
            let path = format!("meter_arrays[{at}]");
            let unit = match meter.kind.as_str() {
                "packets" => Unit::Packets,
                "bytes" => Unit::Bytes,
                other => {
                    return error(&format!("{path}.type"), format!("expected `bytes` or `packets`, found `{other}`"));
                }
            };
            if let Some(count) = meter.rate_count.filter(|count| *count != 2) {
                return error(&format!("{path}.rate_count"), format!("meters have two rates, not {count}"));
            }
            let kind = match meter.is_direct {
                true => ExternKind::DirectMeter { table: None, unit },
                false => ExternKind::Meter { size: cells(meter.size, &format!("{path}.size"))?, unit },
            };
            let id = self.add_object(&meter.name, kind);
            self.objects.insert(("meter_array", &meter.name), id);
        }
        for (at, register) in json.register_arrays.iter().enumerate() {
            let path = format!("register_arrays[{at}]");
            if !(1..=1 << 16).contains(&register.bitwidth) {
                return error(&format!("{path}.bitwidth"), "expected 1 to 65536 bits");
            }
            let size = cells(Some(register.size), &format!("{path}.size"))?;
            let kind = ExternKind::Register { size, ty: Type::Bits(register.bitwidth) };
            let id = self.add_object(&register.name, kind);
            self.objects.insert(("register_array", &register.name), id);
        }
        if let Some(extern_) = json.extern_instances.first() {
            let message = format!("`{}` of type `{}`: simple_switch has no such extern", extern_.name, extern_.kind);
            return error("extern_instances[0].type", message);
        }
        Ok(())
    }

    /// Reads the lists of fields that copies of a packet keep.
    pub(crate) fn read_field_lists(&mut self) -> Result<()> {
        let json = self.json;
        for (at, list) in json.field_lists.iter().enumerate() {
            let path = format!("field_lists[{at}]");
            let Ok(index) = u8::try_from(at) else { return error(&path, "more than 256 field lists") };
            let mut slots = Vec::new();
            for (at, element) in list.elements.iter().enumerate() {
                let path = format!("{path}.elements[{at}]");
                if element.kind != "field" {
                    return error(&format!("{path}.type"), format!("expected `field`, found `{}`", element.kind));
                }
                let path = format!("{path}.value");
                let [header, field] = texts(&element.value, &path)?;
                let field = self.field((header, field), &path)?;
                if !slots.contains(&field.slot) {
                    slots.push(field.slot);
                }
            }
            self.p.field_lists.push(FieldList { index, slots });
        }
        Ok(())
    }
}

fn cells(size: Option<u64>, path: &str) -> Result<u64> {
    match size {
        Some(size) if size <= MAX_CELLS => Ok(size),
        _ => error(path, format!("expected a size up to {MAX_CELLS}")),
    }
}
