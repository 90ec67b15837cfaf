//! Calls of extern functions and methods.

use std::collections::BTreeSet;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_abi::{NamedCall, meter_word};
use hopwright_ir::{ExternArg, ExternCall, ExternFn, ExternId, Type};
use num_traits::{ToPrimitive, Zero};

use super::{Codegen, Result};
use crate::emit::table::lead_word;
use crate::trace_ir::Node;
use crate::trace_ir::values::{Invariance, Op, ValueId, ValueType};

impl<'a> Codegen<'_, 'a> {
    /// The limbs of a call's result.
    pub(super) fn call(&mut self, v: ValueId) -> Result<Vec<Value>> {
        let (call, args) = self.callee(v)?;
        let width = self.ir.values.width(v);
        match (&call.function, &args[..]) {
            (ExternFn::PopulationCount, [of]) => {
                let mut sum = self.g.c64(0);
                for limb in self.limbs(*of)? {
                    let ones = self.g.b.ins().popcnt(limb);
                    sum = self.g.b.ins().iadd(sum, ones);
                }
                Ok(self.g.resize(vec![sum], 64, width, false))
            }
            (ExternFn::AdjustChecksum, &[before, removed, added]) => {
                let sum = self.adjusted([before, removed, added])?;
                Ok(vec![self.g.complement16(sum)])
            }
            (ExternFn::CustomCrc(algorithm), &[data, first, second]) => {
                let algorithm = *algorithm;
                let words = [self.limbs(first)?[0], self.limbs(second)?[0]];
                let (address, bytes) = self.packed(Some(data))?;
                let length = self.g.c64(u64::from(bytes));
                self.before_call();
                Ok(vec![self.g.custom_crc(algorithm, words, (address, length))])
            }
            (ExternFn::Named { .. }, _) if self.is_block(v) => {
                let [first, second] = self.cipher_block(v)?.map(|word| self.g.b.ins().bswap(word));
                Ok(vec![second, first])
            }
            (ExternFn::Named { instance, name, .. }, _) => self.call_native(v, call, *instance, name, &args),
            _ => self.unsupported(format!("`{}`", call.function.name())),
        }
    }

    /// The call that has a value as a result, and the values of its arguments.
    fn callee(&mut self, v: ValueId) -> Result<(&'a ExternCall, Vec<ValueId>)> {
        let Op::Call { function, args, .. } = self.ir.values[v].op.clone() else {
            return self.unsupported("an operation in place of a call");
        };
        let p = self.g.p;
        let fits = |call: &&&ExternCall| {
            let given = call.args.iter().filter(|arg| !matches!(arg, ExternArg::Out(_)));
            let widths = given.map(|arg| match arg {
                ExternArg::In(e) => e.ty.width(),
                ExternArg::List(list) => list.iter().map(|e| e.ty.width()).sum(),
                ExternArg::InOut(slot) | ExternArg::Out(slot) => p[*slot].ty.width(),
            });
            widths.eq(args.iter().map(|arg| self.ir.values.width(*arg)))
        };
        let call = self.functions.get(&*function).and_then(|calls| calls.iter().find(fits)).copied();
        match call {
            Some(call) => Ok((call, args)),
            None => self.unsupported(format!("`{function}`")),
        }
    }

    fn call_native(
        &mut self,
        v: ValueId,
        call: &ExternCall,
        instance: Option<ExternId>,
        name: &str,
        args: &[ValueId],
    ) -> Result<Vec<Value>> {
        let this = NamedCall::of(self.g.p, name, call);
        let list = match instance {
            Some(id) => &self.g.interface.methods[id.index()],
            None => &self.g.interface.functions,
        };
        let Some(index) = list.iter().position(|c| *c == this) else {
            return self.unsupported(format!("extern `{name}`"));
        };
        let (mut words, mut given, mut args) = (0, Vec::new(), args.iter());
        let mut results = Vec::new();
        for (arg, &(_, width)) in call.args.iter().zip(&this.args) {
            let count = width.div_ceil(64) as usize;
            if !matches!(arg, ExternArg::Out(_))
                && let Some(value) = args.next()
            {
                given.push((words, self.limbs(*value)?[..count].to_vec()));
            }
            if let ExternArg::Out(slot) | ExternArg::InOut(slot) = arg {
                results.push((words, count, self.g.p[*slot].ty));
            }
            words += count;
        }
        self.before_call();
        let buffer = self.g.call_native(instance, index, words, &given);
        let Op::Call { function, args, cipher, .. } = self.ir.values[v].op.clone() else { return Ok(Vec::new()) };
        let mut wanted = Vec::new();
        for (number, (at, count, ty)) in results.into_iter().enumerate() {
            let op = Op::Call { function: function.clone(), args: args.clone(), result: number as u32, cipher };
            let result = self.ir.values.data(op, ty);
            let load = |i: usize| {
                let at = 8 * (at + i) as i32;
                self.g.b.ins().load(types::I64, self.g.flags.stack, buffer, at)
            };
            let mut loaded: Vec<Value> = (0..count).map(load).collect();
            if loaded.is_empty() {
                loaded.push(self.g.c64(0));
            }
            if result == v {
                wanted.clone_from(&loaded);
            }
            self.known.limbs.insert(result, loaded);
        }
        Ok(wanted)
    }

    /// A meter, and what it is called with: the address of an entry's meter, or an index.
    pub(super) fn metered(&mut self, meter: &str, of: ValueId) -> Result<(ExternId, Value)> {
        let meter = self.object(meter)?;
        self.g.set_order_dependent();
        if self.ir.values[of].ty != ValueType::Entry {
            return Ok((meter, self.limbs(of)?[0]));
        }
        let entry = self.entry(of)?;
        let (address, offset) = entry.own;
        let at = offset + lead_word(meter_word(&self.g.p[entry.table])) as i32;
        Ok((meter, self.g.b.ins().load(types::I64, self.g.flags.entry, address, at)))
    }

    /// Whether a value is the result of a method that takes and returns a block.
    fn is_block(&mut self, v: ValueId) -> bool {
        let Ok((call, args)) = self.callee(v) else { return false };
        let ExternFn::Named { instance, .. } = call.function else { return false };
        let form = matches!(&call.args[..], [ExternArg::In(_), ExternArg::In(_), ExternArg::Out(_)]);
        let values = &self.ir.values;
        form && values.width(v) == 128
            && matches!(args[..], [number, block] if values.as_constant(number).is_some() && values.width(block) == 128)
            && self.g.block_method(instance).is_some()
    }

    /// The words of an encrypted block, in the order of the packet.
    pub(super) fn cipher_block(&mut self, v: ValueId) -> Result<[Value; 2]> {
        if let Some(known) = self.known.blocks.get(&v) {
            return Ok(*known);
        }
        let block = self.block_of(v)?;
        self.encrypt(v, block)
    }

    /// The words of the block that a call encrypts.
    fn block_of(&mut self, v: ValueId) -> Result<[Value; 2]> {
        let (_, args) = self.callee(v)?;
        let Some(&block) = args.get(1) else { return self.unsupported("a cipher without a block") };
        let [first, second] =
            [(127, 64), (63, 0)].map(|(hi, lo)| self.ir.values.data(Op::Slice { arg: block, hi, lo }, Type::Bits(64)));
        Ok([self.word_in_order(first)?, self.word_in_order(second)?])
    }

    fn encrypt(&mut self, v: ValueId, block: [Value; 2]) -> Result<[Value; 2]> {
        let (call, args) = self.callee(v)?;
        let (ExternFn::Named { instance: Some(id), .. }, &[number, _]) = (&call.function, &args[..]) else {
            return self.unsupported("a cipher");
        };
        let number = self.ir.values.as_constant(number).and_then(|number| number.to_u64());
        let (Some(number), Some(method)) = (number, self.g.block_method(Some(*id))) else {
            return self.unsupported("a cipher with a number that is not known");
        };
        let results = self.g.call_block_method(*id, method, number, block);
        self.known.blocks.insert(v, results);
        Ok(results)
    }

    /// Encrypts all blocks that a node needs, one right after the other.
    pub(super) fn encrypt_all(&mut self, node: &Node) -> Result<()> {
        let mut work: Vec<ValueId> = node.guards.iter().map(|guard| guard.condition).chain(node.end.values()).collect();
        let (mut seen, mut blocks) = (BTreeSet::new(), BTreeSet::new());
        while let Some(v) = work.pop() {
            let data = &self.ir.values[v];
            if data.invariance != Invariance::AfterCipher || !seen.insert(v) {
                continue;
            }
            let operands = data.op.operands();
            let is_cipher = matches!(data.op, Op::Call { cipher: true, .. });
            if is_cipher && operands.iter().all(|v| self.ir.values[*v].invariance < Invariance::AfterCipher) {
                blocks.insert(v);
            }
            work.extend(operands);
        }
        let mut calls = Vec::new();
        for v in blocks {
            if self.is_block(v) && !self.known.blocks.contains_key(&v) {
                calls.push((v, self.block_of(v)?));
            }
        }
        for (v, block) in calls {
            self.encrypt(v, block)?;
        }
        Ok(())
    }

    /// Eight bytes in the order of the packet.
    fn word_in_order(&mut self, v: ValueId) -> Result<Value> {
        if let Some(word) = self.in_packet_order(v)? {
            return Ok(word);
        }
        let parts = self.joined(&[v]);
        if parts.len() == 1 || !parts.iter().all(|part| self.ir.values.width(*part).is_multiple_of(8)) {
            let number = self.limbs(v)?[0];
            return Ok(self.g.b.ins().bswap(number));
        }
        let (mut word, mut at) = (None, 0);
        for part in parts {
            let width = self.ir.values.width(part);
            let bits = match self.in_packet_order(part)? {
                Some(bits) if self.g.b.func.dfg.value_type(bits) == types::I64 => bits,
                Some(bits) => self.g.b.ins().uextend(types::I64, bits),
                None => {
                    let number = self.limbs(part)?[0];
                    let swapped = self.g.b.ins().bswap(number);
                    self.g.b.ins().ushr_imm_u(swapped, i64::from(64 - width))
                }
            };
            let bits = if at > 0 { self.g.b.ins().ishl_imm_u(bits, i64::from(at)) } else { bits };
            if !self.ir.values.as_constant(part).is_some_and(Zero::is_zero) {
                word = Some(match word {
                    Some(others) => self.g.b.ins().bor(others, bits),
                    None => bits,
                });
            }
            at += width;
        }
        Ok(word.unwrap_or_else(|| self.g.c64(0)))
    }
}
