//! Extern calls: those of v1model, and those registered by name.

use num_bigint::BigUint;

use super::exec::{Machine, cost};
use super::observe::Event;
use super::{Digest, Fault, Value};
use hopwright_ir::bits::{self, BitString};
use hopwright_ir::meter::Color;
use hopwright_ir::{Expr, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, HashAlgorithm, SlotId, TableEntry};
use hopwright_ir::{custom_crc, hash};

impl Machine<'_> {
    pub(super) fn call(&mut self, call: &ExternCall) -> Result<(), Fault> {
        if self.observer.is_some() {
            let args = self.arguments(call);
            self.tell(Event::Extern { call, args: &args });
        }
        match (&call.function, call.args.as_slice()) {
            (ExternFn::CounterCount(id), [ExternArg::In(index)]) => {
                let index = self.eval_u64(index);
                let length = self.packet.bytes.len() as u64;
                self.store.count(*id, index, length);
            }
            (ExternFn::CounterCountBytes(id), [ExternArg::In(index), ExternArg::In(bytes)]) => {
                let (index, bytes) = (self.eval_u64(index), self.eval_u64(bytes));
                self.store.count(*id, index, bytes);
            }
            // The hit of the table has already counted the packet, as in BMv2.
            (ExternFn::DirectCounterCount(_), []) => {}
            (ExternFn::DirectCounterCountBytes(id), [ExternArg::In(bytes)]) => {
                let bytes = self.eval_u64(bytes);
                self.recount_hit(*id, bytes);
            }
            (ExternFn::MeterExecute(id), [ExternArg::In(index), ExternArg::Out(slot)]) => {
                let bytes = self.packet.bytes.len() as u64;
                self.execute_meter(*id, index, bytes, *slot, call);
            }
            (ExternFn::MeterExecuteBytes(id), [ExternArg::In(index), ExternArg::In(bytes), ExternArg::Out(slot)]) => {
                let bytes = self.eval_u64(bytes);
                self.execute_meter(*id, index, bytes, *slot, call);
            }
            (ExternFn::DirectMeterRead(_), [ExternArg::Out(slot)]) => {
                self.assign_bits(*slot, (self.color as u8).into(), call);
            }
            (ExternFn::DirectMeterExecuteBytes(id), [ExternArg::In(bytes), ExternArg::Out(slot)]) => {
                let bytes = self.eval_u64(bytes);
                let color = self.measure_directly(*id, bytes);
                self.assign_bits(*slot, (color as u8).into(), call);
            }
            (ExternFn::EntryIndex, [ExternArg::Out(slot)]) => {
                let index = self.hit.as_ref().and_then(|(_, hit)| hit.index).unwrap_or(u32::MAX);
                self.assign_bits(*slot, index.into(), call);
            }
            (ExternFn::RegisterRead(id), [ExternArg::Out(slot), ExternArg::In(index)]) => {
                let index = self.eval_u64(index);
                if let Some(value) = self.store.read_register(*id, index) {
                    self.assign_bits(*slot, value, call);
                }
            }
            (ExternFn::RegisterWrite(id), [ExternArg::In(index), ExternArg::In(value)]) => {
                let index = self.eval_u64(index);
                let value = self.eval(value).bits;
                self.store.write_register(*id, index, value);
            }
            (ExternFn::Digest(name), [ExternArg::In(receiver), ExternArg::List(data)]) => {
                let digest = Digest {
                    name: name.clone(),
                    receiver: self.eval_u64(receiver) as u32,
                    data: data.iter().map(|e| self.eval(e)).collect(),
                };
                self.packet.requests.digests.push(digest);
            }
            (ExternFn::Clone { egress, field_list }, [ExternArg::In(session)]) => {
                let request = Some((self.eval_u64(session) as u32, *field_list));
                if *egress {
                    self.packet.requests.clone_egress = request;
                } else {
                    self.packet.requests.clone_ingress = request;
                }
            }
            (ExternFn::Resubmit(list), []) => self.packet.requests.resubmit = Some(*list),
            (ExternFn::Recirculate(list), []) => self.packet.requests.recirculate = Some(*list),
            (ExternFn::Truncate, [ExternArg::In(length)]) => {
                self.packet.requests.truncate = Some(self.eval_u64(length) as u32);
            }
            (ExternFn::CountHeader, [ExternArg::In(header)]) => {
                let header = self.eval_u64(header) as u32;
                let most = self.packet.requests.truncate;
                self.packet.requests.truncate = most.map(|most| most.saturating_sub(header));
            }
            (ExternFn::Replicate, [ExternArg::In(further)]) => {
                self.packet.requests.replicate = self.eval_u64(further) as u32;
            }
            (ExternFn::Assert | ExternFn::Assume, [ExternArg::In(condition)]) => {
                if !self.eval(condition).is_true() {
                    let what = match call.function {
                        ExternFn::Assert => "assertion",
                        _ => "assumption",
                    };
                    return Err(Fault { message: format!("{what} failed"), span: call.span });
                }
            }
            (ExternFn::LogMsg(format), []) => self.log(format, &[], call),
            (ExternFn::LogMsg(format), [ExternArg::List(data)]) => self.log(format, data, call),
            (ExternFn::Named { instance, name, .. }, _) => self.call_named(*instance, name, call)?,
            _ => return self.compute(call),
        }
        Ok(())
    }

    /// Random numbers, hashes, checksums and sums of bits.
    fn compute(&mut self, call: &ExternCall) -> Result<(), Fault> {
        match (&call.function, call.args.as_slice()) {
            (ExternFn::Random, [ExternArg::Out(result), ExternArg::In(lo), ExternArg::In(hi)]) => {
                let (lo, hi) = (self.eval(lo).bits, self.eval(hi).bits);
                if let Some(value) = self.externs.random.between(&lo, &hi) {
                    self.assign_bits(*result, value, call);
                }
            }
            (
                ExternFn::Hash(algorithm),
                [ExternArg::Out(result), ExternArg::In(base), ExternArg::List(data), ExternArg::In(max)],
            ) => {
                let data = self.concatenate(data).into_bytes();
                let (base, max) = (self.eval(base).bits, self.eval(max).bits);
                let value = hash::hash_in_range(*algorithm, &data, &base, &max);
                self.assign_bits(*result, value, call);
            }
            (
                ExternFn::CustomCrc(algorithm),
                [ExternArg::Out(result), ExternArg::List(data), ExternArg::In(first), ExternArg::In(second)],
            ) => {
                let data = self.concatenate(data).into_bytes();
                let words = [self.eval_u64(first), self.eval_u64(second)];
                self.assign_bits(*result, custom_crc::crc(*algorithm, words, &data).into(), call);
            }
            (
                ExternFn::VerifyChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::In(checksum)],
            ) => {
                if self.eval(condition).is_true() {
                    let expected = self.eval(checksum);
                    let found = self.checksum(*algorithm, *payload, data);
                    if Value::new(found, expected.width) != expected {
                        let slot = self.pipeline.standard.checksum_error;
                        self.assign_bits(slot, 1u32.into(), call);
                    }
                }
            }
            (
                ExternFn::UpdateChecksum { algorithm, payload },
                [
                    ExternArg::In(condition),
                    ExternArg::List(data),
                    ExternArg::InOut(checksum) | ExternArg::Out(checksum),
                ],
            ) => {
                if self.eval(condition).is_true() {
                    let value = self.checksum(*algorithm, *payload, data);
                    self.assign_bits(*checksum, value.into(), call);
                }
            }
            (
                ExternFn::AdjustChecksum,
                [ExternArg::InOut(checksum), ExternArg::List(removed), ExternArg::List(added)],
            ) => {
                let [removed, added] = [removed, added].map(|list| self.concatenate(list).into_bytes());
                let before = self.packet.get(*checksum).bits.iter_u32_digits().next().unwrap_or(0) as u16;
                self.assign_bits(*checksum, adjusted(before, &removed, &added).into(), call);
            }
            (ExternFn::PopulationCount, [ExternArg::In(value), ExternArg::Out(ones)]) => {
                let count = self.eval(value).bits.count_ones();
                self.assign_bits(*ones, count.into(), call);
            }
            _ => {
                let message = format!("malformed call of {:?}", call.function);
                return Err(Fault { message, span: call.span });
            }
        }
        Ok(())
    }

    fn execute_meter(&mut self, id: ExternId, index: &Expr, bytes: u64, slot: SlotId, call: &ExternCall) {
        let index = self.eval_u64(index);
        let ExternKind::Meter { unit, .. } = self.pipeline[id].kind else { return };
        if let Some(color) = self.store.measure(id, index, self.now_us, cost(unit, bytes)) {
            self.assign_bits(slot, (color as u8).into(), call);
        }
    }

    /// Runs the direct meter of the entry whose action is being executed for a packet of this length. Green if it has none.
    fn measure_directly(&mut self, meter: ExternId, bytes: u64) -> Color {
        let (Some((id, hit)), ExternKind::DirectMeter { unit, .. }) = (&self.hit, &self.pipeline[meter].kind) else {
            return Color::Green;
        };
        if self.pipeline[*id].direct_meter != Some(meter) {
            return Color::Green;
        }
        let TableEntry { matches, priority, .. } = &hit.entry;
        self.store.measure_hit(*id, matches, *priority, self.now_us, cost(*unit, bytes))
    }

    /// The hit of the entry whose action is being executed has counted the packet's length: counts this length instead.
    fn recount_hit(&mut self, counter: ExternId, bytes: u64) {
        let Some((id, hit)) = &self.hit else { return };
        if self.pipeline[*id].direct_counter == Some(counter) {
            let more = bytes.wrapping_sub(self.packet.bytes.len() as u64);
            self.store.recount_hit(*id, &hit.entry.matches, hit.entry.priority, more);
        }
    }

    fn assign_bits(&mut self, slot: SlotId, value: BigUint, call: &ExternCall) {
        let width = self.pipeline[slot].ty.width();
        self.assign(slot, Value::new(value, width), call.span);
    }

    fn checksum(&self, algorithm: HashAlgorithm, payload: bool, data: &[Expr]) -> u64 {
        let mut string = self.concatenate(data);
        if payload {
            string.push_bytes(self.packet.payload());
        }
        hash::hash(algorithm, string.as_bytes())
    }

    fn log(&mut self, format: &str, data: &[Expr], call: &ExternCall) {
        if self.observer.is_none() {
            return;
        }
        let mut values = data.iter().map(|e| match e.ty {
            hopwright_ir::Type::Int(w) => bits::to_signed(&self.eval(e).bits, w).to_string(),
            _ => self.eval(e).bits.to_string(),
        });
        let mut message = String::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once("{}") {
            message.push_str(before);
            message.push_str(values.next().as_deref().unwrap_or("{}"));
            rest = after;
        }
        message.push_str(rest);
        drop(values);
        self.tell(Event::Log { message: &message, span: call.span });
    }

    fn call_named(&mut self, instance: Option<ExternId>, name: &str, call: &ExternCall) -> Result<(), Fault> {
        let mut args = self.arguments(call);
        let widths: Vec<u32> = args.iter().map(|a| a.width).collect();
        let result = self.externs.call(instance, name, &mut args);
        result.map_err(|reason| Fault { message: format!("{name}: {reason}"), span: call.span })?;
        for ((arg, value), width) in call.args.iter().zip(args).zip(widths) {
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                self.assign(*slot, Value::new(value.bits, width), call.span);
            }
        }
        Ok(())
    }

    /// Returns the arguments' values. An out argument has the value that its slot holds.
    fn arguments(&self, call: &ExternCall) -> Vec<Value> {
        call.args
            .iter()
            .map(|arg| match arg {
                ExternArg::In(e) => self.eval(e),
                ExternArg::List(list) => {
                    let string: BitString = self.concatenate(list);
                    let width = string.len() as u32;
                    let padding = string.as_bytes().len() * 8 - string.len();
                    let bits = BigUint::from_bytes_be(string.as_bytes()) >> padding;
                    Value { bits, width }
                }
                ExternArg::Out(slot) | ExternArg::InOut(slot) => self.packet.get(*slot).clone(),
            })
            .collect()
    }
}

/// Returns a checksum after some words of its data were replaced (RFC 1624, equation 3).
fn adjusted(checksum: u16, removed: &[u8], added: &[u8]) -> u16 {
    let words = |bytes: &[u8]| -> Vec<u16> {
        bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])).collect()
    };
    let terms = words(removed).into_iter().map(|word| !word).chain(words(added));
    !terms.fold(!checksum, |sum, word| {
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

#[cfg(test)]
mod tests {
    use super::adjusted;

    #[test]
    fn the_example_of_rfc_1624() {
        // RFC 1624, section 4: a field of 0x5555 becomes 0x3285.
        assert_eq!(adjusted(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
        assert_eq!(adjusted(0x1234, &[], &[]), 0x1234);
        assert_eq!(adjusted(0xffff, &[0xff, 0xff], &[]), 0xffff);
        assert_eq!(adjusted(0xffff, &[], &[0xff]), 0x00ff);
    }
}
