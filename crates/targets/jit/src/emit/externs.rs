//! Calls of extern functions and methods: counters, registers and checksums inline, others by a call.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use hopwright_ir::analysis::ranges::Ranges;
use hopwright_ir::{
    Expr, ExternArg, ExternCall, ExternFn, ExternId, ExternKind, ExternTarget, HashAlgorithm, HeaderId, SlotId, Type,
};

use crate::Unsupported;
use crate::code::libcalls::{self, Libcall};
use crate::emit::Emitter;
use crate::emit::flow_state::FlowState;
use crate::emit::layout::limbs;
use crate::trace::mode::BatchInvariant;
use hopwright_abi::{BlockMethod, CounterCell, ExternHandle, NamedCall};

type Result<T> = std::result::Result<T, Unsupported>;

/// The join behind a condition and the state at the branch; `None` if there is no branch.
type Conditional = Option<(Block, FlowState)>;

impl Emitter<'_> {
    pub(crate) fn extern_call(&mut self, call: &ExternCall) -> Result<()> {
        let unsupported = || Err(Unsupported::new(call.span, format!("`{}` like this", call.function.name())));
        if !call.function.info().targets.contains(&ExternTarget::MachineCode) {
            return unsupported();
        }
        match (&call.function, call.args.as_slice()) {
            (ExternFn::CounterCount(id), [ExternArg::In(index)]) => self.count_in(*id, index, None)?,
            (ExternFn::CounterCountBytes(id), [ExternArg::In(index), ExternArg::In(bytes)]) => {
                let bytes = self.value(bytes)?[0];
                self.count_in(*id, index, Some(bytes))?;
            }
            // The hit of the table has already counted the packet.
            (ExternFn::DirectCounterCount(_), []) => {}
            (ExternFn::DirectCounterCountBytes(id), [ExternArg::In(bytes)]) => {
                let bytes = self.value(bytes)?[0];
                self.recount(*id, bytes);
            }
            (ExternFn::EntryIndex, [ExternArg::Out(to)]) => self.entry_index(*to),
            (ExternFn::RegisterRead(id), [ExternArg::Out(slot), ExternArg::In(index)]) => {
                self.read_register(*id, *slot, index)?;
            }
            (ExternFn::RegisterWrite(id), [ExternArg::In(index), ExternArg::In(value)]) => {
                self.write_register(*id, index, value)?;
            }
            (ExternFn::MeterExecute(id), [ExternArg::In(index), ExternArg::Out(to)]) => {
                let bytes = self.packet_length();
                self.execute_meter(*id, index, bytes, *to)?;
            }
            (ExternFn::MeterExecuteBytes(id), [ExternArg::In(index), ExternArg::In(bytes), ExternArg::Out(to)]) => {
                let bytes = self.value(bytes)?[0];
                self.execute_meter(*id, index, bytes, *to)?;
            }
            (ExternFn::DirectMeterRead(_), [ExternArg::Out(to)]) => self.read_direct_meter(*to),
            (ExternFn::DirectMeterExecuteBytes(id), [ExternArg::In(bytes), ExternArg::Out(to)]) => {
                let bytes = self.value(bytes)?[0];
                self.execute_directly(*id, bytes, *to);
            }
            (
                ExternFn::Hash(algorithm),
                [ExternArg::Out(to), ExternArg::In(base), ExternArg::List(data), ExternArg::In(max)],
            ) => self.hash(*algorithm, *to, base, data, max)?,
            (
                ExternFn::CustomCrc(algorithm),
                [ExternArg::Out(to), ExternArg::List(data), ExternArg::In(first), ExternArg::In(second)],
            ) => self.hash_with_parameters(*algorithm, [first, second], data, *to)?,
            (ExternFn::Random, [ExternArg::Out(to), ExternArg::In(lo), ExternArg::In(hi)]) => {
                self.random(*to, lo, hi)?
            }
            (ExternFn::Assert | ExternFn::Assume, [ExternArg::In(condition)]) => {
                let c = self.cond(condition)?;
                self.fault_unless(c);
            }
            (ExternFn::LogMsg(_), _) => {}
            (
                ExternFn::VerifyChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::In(checksum)],
            ) => {
                let Some(end) = self.begin_if(condition)? else { return Ok(()) };
                let found = self.checksum(*algorithm, *payload, data)?;
                self.verify_checksum(found, checksum)?;
                self.end_if(end);
            }
            (
                ExternFn::UpdateChecksum { algorithm, payload },
                [ExternArg::In(condition), ExternArg::List(data), ExternArg::InOut(to) | ExternArg::Out(to)],
            ) => {
                let Some(end) = self.begin_if(condition)? else { return Ok(()) };
                let v = self.checksum(*algorithm, *payload, data)?;
                let v = self.fit(vec![v], 64, *to);
                self.write(*to, &v);
                self.end_if(end);
            }
            (ExternFn::AdjustChecksum, [ExternArg::InOut(to), ExternArg::List(removed), ExternArg::List(added)])
                if !has_varbit(removed) && !has_varbit(added) =>
            {
                self.adjust_checksum(*to, removed, added)?;
            }
            (ExternFn::PopulationCount, [ExternArg::In(value), ExternArg::Out(to)]) => {
                self.population_count(value, *to)?;
            }
            (ExternFn::Named { instance, name, .. }, _) => self.named(*instance, name, call)?,
            (ExternFn::Digest(name), [ExternArg::In(receiver), ExternArg::List(data)]) => {
                self.digest(name, receiver, data)?;
            }
            _ => return unsupported(),
        }
        Ok(())
    }

    /// Counts the packet in a cell, with an adjusted number of bytes if there is one.
    fn count_in(&mut self, id: ExternId, index: &Expr, bytes: Option<Value>) -> Result<()> {
        self.cell(id, index, size_of::<CounterCell>(), |g, cell| {
            match bytes {
                Some(bytes) => g.count_bytes(cell, bytes),
                None => g.count(cell),
            }
            Ok(())
        })
    }

    fn read_register(&mut self, id: ExternId, slot: SlotId, index: &Expr) -> Result<()> {
        let words = self.register_words(id);
        self.cell(id, index, 8 * words, |g, cell| {
            let v: Vec<Value> =
                (0..words).map(|i| g.b.ins().load(types::I64, g.flags.cells, cell, 8 * i as i32)).collect();
            let v = g.fit(v, g.register_width(id), slot);
            g.write(slot, &v);
            Ok(())
        })
    }

    fn write_register(&mut self, id: ExternId, index: &Expr, value: &Expr) -> Result<()> {
        let v = self.value(value)?;
        let words = self.register_words(id);
        self.cell(id, index, 8 * words, |g, cell| {
            for (i, &limb) in v.iter().take(words).enumerate() {
                g.b.ins().store(g.flags.cells, limb, cell, 8 * i as i32);
            }
            Ok(())
        })
    }

    /// Notes a checksum that differs from what is expected.
    fn verify_checksum(&mut self, found: Value, checksum: &Expr) -> Result<()> {
        let found = self.resize(vec![found], 64, checksum.ty.width(), false);
        let expected = self.value(checksum)?;
        let same = self.wide_eq(&found, &expected);
        let same = self.b.ins().uextend(types::I64, same);
        let error = self.p.standard.checksum_error;
        let old = self.read(error)[0];
        let wrong = self.c64(1);
        let new = self.b.ins().select(same, old, wrong);
        self.write(error, &[new]);
        Ok(())
    }

    fn population_count(&mut self, value: &Expr, to: SlotId) -> Result<()> {
        let limbs = self.value(value)?;
        let mut sum = self.c64(0);
        for limb in limbs {
            let ones = self.b.ins().popcnt(limb);
            sum = self.b.ins().iadd(sum, ones);
        }
        let ones = self.fit(vec![sum], 64, to);
        self.write(to, &ones);
        Ok(())
    }

    /// Converts a value to a slot's type.
    pub(crate) fn fit(&mut self, v: Vec<Value>, width: u32, slot: SlotId) -> Vec<Value> {
        let to = self.p[slot].ty.width();
        self.resize(v, width, to, false)
    }

    fn register_width(&self, id: ExternId) -> u32 {
        match &self.p[id].kind {
            ExternKind::Register { ty, .. } => ty.width(),
            _ => 0,
        }
    }

    fn register_words(&self, id: ExternId) -> usize {
        self.register_width(id).div_ceil(64) as usize
    }

    /// How many cells a counter or register has.
    fn cells_of(&self, id: ExternId) -> u64 {
        match self.p[id].kind {
            ExternKind::Counter { size, .. } | ExternKind::Register { size, .. } => size,
            _ => 0,
        }
    }

    /// Emits code for one cell of an extern's array, if the index is in range.
    fn cell(
        &mut self,
        id: ExternId,
        index: &Expr,
        bytes: usize,
        with: impl FnOnce(&mut Self, Value) -> Result<()>,
    ) -> Result<()> {
        let at = (id.index() * size_of::<ExternHandle>()) as i32;
        let size = self.cells_of(id);
        let (e, index) = (index, self.value(index)?[0]);
        let always = maximum(e).is_some_and(|most| most < size);
        if always {
            let cell = self.cell_at(at, index, bytes);
            return with(self, cell);
        }
        let (inside, end) = (self.b.create_block(), self.b.create_block());
        let within = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, index, size as i64);
        self.b.ins().brif(within, inside, &[], end, &[]);
        self.enter(inside);
        let cell = self.cell_at(at, index, bytes);
        let before = self.flow.clone();
        with(self, cell)?;
        self.b.ins().jump(end, &[]);
        self.enter(end);
        self.flow.meet(&before);
        Ok(())
    }

    /// The address of an extern's cell.
    fn cell_at(&mut self, handle: i32, index: Value, bytes: usize) -> Value {
        let cells = self.batch_invariant(BatchInvariant::State(handle));
        let offset = self.b.ins().imul_imm_u(index, bytes as i64);
        self.b.ins().iadd(cells, offset)
    }

    /// The address of a register's cell.
    pub(crate) fn register_cell(&mut self, id: ExternId, index: Value) -> Value {
        self.set_order_dependent();
        let handle = (id.index() * size_of::<ExternHandle>()) as i32;
        self.cell_at(handle, index, 8 * self.register_words(id))
    }

    /// The words of a register's cell.
    pub(crate) fn load_register(&mut self, id: ExternId, index: Value) -> Vec<Value> {
        let cell = self.register_cell(id, index);
        let words = self.register_words(id);
        (0..words).map(|i| self.b.ins().load(types::I64, self.flags.cells, cell, 8 * i as i32)).collect()
    }

    /// Begins code that runs if the condition holds, up to [`Emitter::end_if`]. `None` if it is known not to hold.
    fn begin_if(&mut self, condition: &Expr) -> Result<Option<Conditional>> {
        match self.known(condition) {
            Some(0) => return Ok(None),
            Some(_) => return Ok(Some(None)),
            None => {}
        }
        let c = self.cond(condition)?;
        let (yes, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(c, yes, &[], end, &[]);
        self.enter(yes);
        Ok(Some(Some((end, self.flow.clone()))))
    }

    fn end_if(&mut self, conditional: Conditional) {
        let Some((end, before)) = conditional else { return };
        self.b.ins().jump(end, &[]);
        self.enter(end);
        self.flow.meet(&before);
    }

    /// A random number in an inclusive range; unchanged if the range is empty.
    fn random(&mut self, to: SlotId, lo: &Expr, hi: &Expr) -> Result<()> {
        let width = lo.ty.width().max(hi.ty.width()).max(1);
        let n = limbs(width);
        let low = self.value(lo)?;
        let low = self.resize(low, lo.ty.width(), width, false);
        let high = self.value(hi)?;
        let high = self.resize(high, hi.ty.width(), width, false);
        let buffer = self.stack_buffer(3 * n);
        self.store_limbs(buffer, 0, &low);
        self.store_limbs(buffer, n, &high);
        let count = self.c64(n as u64);
        let drawn = self.libcall(Libcall::Random, &[count, buffer], true).unwrap_or(count);
        let new =
            (2 * n..3 * n).map(|i| self.b.ins().load(types::I64, self.flags.stack, buffer, 8 * i as i32)).collect();
        let mut new = self.fit(new, width, to);
        let old = self.read(to);
        for (n, o) in new.iter_mut().zip(old) {
            *n = self.b.ins().select(drawn, *n, o);
        }
        self.write(to, &new);
        Ok(())
    }

    /// Packs a list into bytes in the frame: address and length.
    pub(crate) fn pack(&mut self, data: &[Expr]) -> Result<(Value, Value)> {
        if has_varbit(data) {
            return self.pack_bits(data);
        }
        let parts: Vec<&Expr> = data.iter().collect();
        let width: u32 = data.iter().map(|e| e.ty.width()).sum();
        let whole = self.join(&parts)?;
        let bytes = width.div_ceil(8);
        let padded = self.wide_shl(&whole, bytes * 8 - width, crate::emit::layout::limbs(bytes * 8));
        let buffer = self.stack_buffer(bytes.div_ceil(8) as usize);
        self.store_bytes(self.flags.stack, buffer, 0, bytes, &padded);
        let length = self.c64(u64::from(bytes));
        Ok((buffer, length))
    }

    fn hash(&mut self, algorithm: HashAlgorithm, to: SlotId, base: &Expr, data: &[Expr], max: &Expr) -> Result<()> {
        let base_value = self.value(base)?;
        let max_value = self.value(max)?;
        // A bound beyond 64 bits exceeds any hash.
        let beyond = max_value[1..].iter().copied().reduce(|a, b| self.b.ins().bor(a, b));
        let max_value = max_value[0];
        let (address, length) = self.pack(data)?;
        let which = self.c64(libcalls::algorithm_code(algorithm));
        let h = self.libcall(Libcall::Hash, &[which, address, length], true).unwrap_or(address);
        let one = self.c64(1);
        let divisor = self.b.ins().umax(max_value, one);
        let mut within = self.b.ins().urem(h, divisor);
        if let Some(beyond) = beyond {
            within = self.b.ins().select(beyond, h, within);
        }
        // base + H mod max, truncated to the result's width.
        let width = self.p[to].ty.width().max(base.ty.width()).max(64);
        let base_value = self.resize(base_value, base.ty.width(), width, false);
        let within = self.resize(vec![within], 64, width, false);
        let sum = self.wide_add(&base_value, &within);
        let v = self.fit(sum, width, to);
        self.write(to, &v);
        Ok(())
    }

    fn hash_with_parameters(
        &mut self,
        algorithm: HashAlgorithm,
        [first, second]: [&Expr; 2],
        data: &[Expr],
        to: SlotId,
    ) -> Result<()> {
        let words = [self.value(first)?[0], self.value(second)?[0]];
        let packed = self.pack(data)?;
        let crc = self.custom_crc(algorithm, words, packed);
        self.write(to, &[crc]);
        Ok(())
    }

    /// A CRC with the parameters in two words, of bytes at an address.
    pub(crate) fn custom_crc(
        &mut self,
        algorithm: HashAlgorithm,
        [first, second]: [Value; 2],
        (address, length): (Value, Value),
    ) -> Value {
        let which = self.c64(libcalls::algorithm_code(algorithm));
        let args = [which, first, second, address, length];
        self.libcall(Libcall::CustomCrc, &args, true).unwrap_or(address)
    }

    fn checksum(&mut self, algorithm: HashAlgorithm, payload: bool, data: &[Expr]) -> Result<Value> {
        if algorithm == HashAlgorithm::Csum16 && !payload && !has_varbit(data) {
            return self.csum16(data);
        }
        let (address, length) = self.pack(data)?;
        let which = self.c64(libcalls::algorithm_code(algorithm));
        let (from, count) = if payload {
            let cursor = self.b.use_var(self.cursor);
            let end = self.packet_end();
            let count = self.b.ins().isub(end, cursor);
            (cursor, count)
        } else {
            let none = self.c64(0);
            (address, none)
        };
        let args = [which, address, length, from, count];
        Ok(self.libcall(Libcall::Checksum, &args, true).unwrap_or(address))
    }

    /// RFC 1071: the complement of the ones' complement sum of 16-bit words. Because 2^16 is 1 modulo 2^16 - 1, values
    /// can be added in larger pieces, shifted to their position in a word. The sum of words in memory order is the
    /// byte-swapped sum.
    fn csum16(&mut self, data: &[Expr]) -> Result<Value> {
        let sum = self.sum16(data)?;
        Ok(self.complement16(sum))
    }

    /// The complement of a sum.
    pub(crate) fn complement16(&mut self, Sum16 { values, in_memory, .. }: Sum16) -> Value {
        let complement = match (values, in_memory) {
            (None, None) => return self.c64(0xffff),
            (Some(sum), None) => self.inverted16(sum),
            (values, Some(in_memory)) => {
                let sum = self.all_in_memory(values, in_memory);
                let complement = self.inverted16(sum);
                self.b.ins().bswap(complement)
            }
        };
        self.b.ins().uextend(types::I64, complement)
    }

    /// A sum of words in memory order and of values, in memory order. Multiplying a sum by 2^8 swaps its bytes modulo 2^16 - 1; sums
    /// of values are far below 2^56.
    pub(crate) fn all_in_memory(&mut self, values: Option<Value>, in_memory: Value) -> Value {
        let Some(values) = values else { return in_memory };
        let swapped = self.b.ins().ishl_imm_u(values, 8);
        self.b.ins().iadd(in_memory, swapped)
    }

    /// The complement of a sum modulo 2^16 - 1.
    pub(crate) fn inverted16(&mut self, sum: Value) -> Value {
        let folded = self.fold16(sum);
        self.b.ins().bnot(folded)
    }

    /// RFC 1624: adds the complements of the removed words, and the added words, to the complement of the checksum. The
    /// sum of complements is zero only if all of them are, as in ones' complement arithmetic.
    fn adjust_checksum(&mut self, to: SlotId, removed: &[Expr], added: &[Expr]) -> Result<()> {
        let (removed, added) = (self.sum16(removed)?, self.sum16(added)?);
        let before = self.read(to)[0];
        let mut sum = self.changed16(removed, added);
        let ones = self.c64(0xffff);
        let before = self.b.ins().bxor(before, ones);
        self.add_to(&mut sum.values, before);
        let adjusted = self.complement16(sum);
        self.write(to, &[adjusted]);
        Ok(())
    }

    /// A sum of some words and of the complements of others.
    pub(crate) fn changed16(&mut self, removed: Sum16, added: Sum16) -> Sum16 {
        let mut change = |sum: Option<Value>, ones: u64, removed: Option<Value>| {
            if ones == 0 {
                return sum;
            }
            let ones = self.c64(ones);
            let complement = removed.map_or(ones, |removed| self.b.ins().isub(ones, removed));
            Some(sum.map_or(complement, |sum| self.b.ins().iadd(sum, complement)))
        };
        let values = change(added.values, removed.ones, removed.values);
        let in_memory = change(added.in_memory, removed.ones_in_memory, removed.in_memory);
        Sum16 { values, in_memory, ..Sum16::default() }
    }

    /// Whether two sums of words in memory order, of which the second is one word, add up to zero, represented as all ones. If
    /// the word is all ones, the other representation of zero, the packet takes a side exit.
    pub(crate) fn sums_to_zero(&mut self, others: Value, sum: Value) -> Value {
        let other = self.b.ins().icmp_imm_u(IntCC::NotEqual, sum, 0xffff);
        self.exit_unless(other, true);
        let sum = self.b.ins().iadd(others, sum);
        // Tests divisibility by 2^16 - 1 with its multiplicative inverse: the product is the quotient for multiples,
        // and larger than any quotient for other numbers. Zero does not occur.
        let times = self.b.ins().imul_imm_s(sum, (u64::MAX / 0xffff).wrapping_neg() as i64);
        let less = self.b.ins().iadd_imm_s(times, -1);
        self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, less, (u64::MAX / 0xffff) as i64)
    }

    /// The sum of 16-bit words in pieces: of values, and of words in memory order.
    fn sum16(&mut self, data: &[Expr]) -> Result<Sum16> {
        let width: u32 = data.iter().map(|e| e.ty.width()).sum();
        let mut behind = width.next_multiple_of(16);
        let mut sum = Sum16::of_width(width);
        let mut rest = data;
        while let Some((e, others)) = rest.split_first() {
            let (v, w) = match self.side_by_side(rest.iter()) {
                Some((header, offset, w, count)) => {
                    rest = &rest[count..];
                    behind -= w;
                    if offset.is_multiple_of(8) && w.is_multiple_of(16) && behind.is_multiple_of(16) {
                        let words = self.words_in_memory(header, offset / 8, w / 8);
                        self.add_words(&mut sum, &words, w);
                        continue;
                    }
                    (self.bits_of_header(header, offset, w), w)
                }
                None => {
                    rest = others;
                    behind -= e.ty.width();
                    (self.value(e)?, e.ty.width())
                }
            };
            let is_zero = e.as_const().is_some_and(|c| *c == num_bigint::BigUint::ZERO);
            self.add_number(&mut sum, (!is_zero).then_some(&v), w, behind % 16);
        }
        Ok(sum)
    }

    /// Adds words in memory order, together `width` bits.
    pub(crate) fn add_words(&mut self, sum: &mut Sum16, words: &[Value], width: u32) {
        for &v in words {
            self.add_to(&mut sum.in_memory, v);
        }
        sum.ones_in_memory += u64::from(width / 32) * 0xffff_ffff + u64::from(width % 32 / 16) * 0xffff;
    }

    /// Adds a number of `width` bits, `shift` bits above the end of a word; `None` for zero.
    pub(crate) fn add_number(&mut self, sum: &mut Sum16, v: Option<&Vec<Value>>, width: u32, shift: u32) {
        sum.ones += ones_in_pieces(width, shift);
        let Some(v) = v else { return };
        let shifted = self.wide_shl(v, shift, limbs(width + shift));
        for (i, &limb) in shifted.iter().enumerate() {
            let bits = (width + shift).saturating_sub(64 * i as u32);
            if bits > 32 {
                let low = self.mask(limb, 32);
                self.add_to(&mut sum.values, low);
                let high = self.b.ins().ushr_imm_u(limb, 32);
                self.add_to(&mut sum.values, high);
            } else {
                self.add_to(&mut sum.values, limb);
            }
        }
    }

    fn add_to(&mut self, sum: &mut Option<Value>, v: Value) {
        *sum = Some(match *sum {
            Some(old) => self.b.ins().iadd(old, v),
            None => v,
        });
    }

    /// A sum modulo 2^16 - 1 as I16; zero only if the sum is zero. Adding a number to itself with halves swapped gives
    /// the sum of its halves, with carry, in the upper half.
    pub(crate) fn fold16(&mut self, sum: Value) -> Value {
        let by = self.b.ins().iconst(types::I64, 32);
        let halves = self.b.ins().rotl(sum, by);
        let sum = self.b.ins().iadd(sum, halves);
        let sum = self.b.ins().ushr_imm_u(sum, 32);
        let sum = self.b.ins().ireduce(types::I32, sum);
        let by = self.b.ins().iconst(types::I32, 16);
        let halves = self.b.ins().rotl(sum, by);
        let sum = self.b.ins().iadd(sum, halves);
        let sum = self.b.ins().ushr_imm_u(sum, 16);
        self.b.ins().ireduce(types::I16, sum)
    }

    /// An even number of bytes of a header in pieces of at most four, in memory order.
    fn words_in_memory(&mut self, header: HeaderId, at: u32, bytes: u32) -> Vec<Value> {
        let mut out = Vec::new();
        let mut done = 0;
        while done < bytes {
            let size = if bytes - done >= 4 { 4 } else { 2 };
            out.push(self.raw_number(header, (at + done) as i32, size));
            done += size;
        }
        out
    }

    fn named(&mut self, instance: Option<ExternId>, name: &str, call: &ExternCall) -> Result<()> {
        let this = NamedCall::of(self.p, name, call);
        let list = match instance {
            Some(id) => &self.interface.methods[id.index()],
            None => &self.interface.functions,
        };
        let Some(index) = list.iter().position(|c| *c == this) else {
            return Err(Unsupported::new(call.span, format!("extern `{name}`")));
        };
        let mut words = 0;
        let mut given = Vec::new();
        for (arg, &(_, width)) in call.args.iter().zip(&this.args) {
            let count = width.div_ceil(64) as usize;
            match arg {
                ExternArg::In(e) => {
                    let v = self.value(e)?;
                    given.push((words, v[..count].to_vec()));
                }
                ExternArg::List(list) => {
                    let parts: Vec<&Expr> = list.iter().collect();
                    let whole = self.join(&parts)?;
                    given.push((words, whole[..count].to_vec()));
                }
                ExternArg::Out(_) => {}
                ExternArg::InOut(slot) => {
                    let v = self.read(*slot);
                    given.push((words, v[..count].to_vec()));
                }
            }
            words += count;
        }
        let buffer = self.call_native(instance, index, words, &given);
        let mut at = 0;
        for (arg, &(_, width)) in call.args.iter().zip(&this.args) {
            let count = width.div_ceil(64) as usize;
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                let v: Vec<Value> = (0..count)
                    .map(|i| self.b.ins().load(types::I64, self.flags.stack, buffer, 8 * (at + i) as i32))
                    .collect();
                if count > 0 {
                    self.write(*slot, &v);
                }
            }
            at += count;
        }
        Ok(())
    }

    /// Calls a method of an object or a function by its index, with arguments at words of a buffer, whose address is returned.
    pub(crate) fn call_native(
        &mut self,
        instance: Option<ExternId>,
        index: usize,
        words: usize,
        given: &[(usize, Vec<Value>)],
    ) -> Value {
        let buffer = self.key_buffer(words);
        for (at, v) in given {
            self.store_limbs(buffer, *at, v);
        }
        let (array, at, method) = match instance {
            Some(id) => (self.externs, id.index(), index),
            None => (self.functions, index, 0),
        };
        let at = (at * size_of::<ExternHandle>()) as i32;
        let flags = self.flags.runtime;
        let state = self.b.ins().load(types::I64, flags, array, at + offset_of!(ExternHandle, state) as i32);
        let callee = self.b.ins().load(types::I64, flags, array, at + offset_of!(ExternHandle, call) as i32);
        let method = self.b.ins().iconst(types::I32, method as i64);
        self.before_call();
        self.b.ins().call_indirect(self.signatures.method, callee, &[state, method, buffer]);
        buffer
    }

    /// Calls a method with its arguments in registers: a number and the words of a block.
    pub(crate) fn call_block_method(
        &mut self,
        id: ExternId,
        method: BlockMethod,
        number: u64,
        [first, second]: [Value; 2],
    ) -> [Value; 2] {
        let handle = (id.index() * size_of::<ExternHandle>()) as i32;
        let prepared = self.batch_invariant(BatchInvariant::Prepared(handle, method.prepare as usize, number));
        let callee = self.c64(method.run as usize as u64);
        self.before_call();
        let call = self.b.ins().call_indirect(self.signatures.block, callee, &[prepared, first, second]);
        [0, 1].map(|i| self.b.inst_results(call)[i])
    }
}

/// A ones' complement sum in pieces of at most 32 bits, and what it would be if all bits of the data, including
/// padding, were ones.
#[derive(Default)]
pub(crate) struct Sum16 {
    /// The sum of values.
    pub values: Option<Value>,
    ones: u64,
    /// The sum of words in memory order.
    pub in_memory: Option<Value>,
    ones_in_memory: u64,
}

impl Sum16 {
    /// The sum of no words yet, of `width` bits that are padded to whole words.
    pub(crate) fn of_width(width: u32) -> Sum16 {
        Sum16 { ones: (1 << (width.next_multiple_of(16) - width)) - 1, ..Sum16::default() }
    }
}

/// The sum of a number's pieces of 32 bits, if its `width` bits, `shift` bits above the lowest, are all ones.
fn ones_in_pieces(width: u32, shift: u32) -> u64 {
    let end = width + shift;
    let piece = |at: u32| {
        let ones = |bits: u32| (1u64 << bits.min(32)) - 1;
        ones(end - at) - ones(shift.saturating_sub(at))
    };
    (0..end).step_by(32).map(piece).sum()
}

/// The maximum of an expression of at most 63 bits, for any values of slots.
fn maximum(e: &Expr) -> Option<u64> {
    if e.ty.width() > 63 || !matches!(e.ty, Type::Bits(_)) {
        return None;
    }
    Ranges::default().of(e).map(|range| range.hi)
}

fn has_varbit(data: &[Expr]) -> bool {
    data.iter().any(|e| matches!(e.ty, Type::Varbit(_)))
}
