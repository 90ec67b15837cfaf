//! Code generation: one walk over a tree emits Cranelift IR.
//!
//! A node is its guards, in order; a packet that fails one takes the side exit. A value is computed at its first use and kept for
//! all uses below, because the nodes that lead to a node dominate it. Numbers have limbs as in [`crate::emit::expr`]; bytes that
//! are only compared or copied stay in the order of the packet ([`operands`]). Effects happen at the leaf ([`leaf`]), where all
//! their operands are computed before the first of them.

mod calls;
mod checksums;
mod leaf;
mod operands;
mod stores;

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value};
use hopwright_ir::{BinaryOp, ExternCall, ExternId, StmtKind, TableId, Type, ValueSetId, walk};

use super::recording::function_name;
use super::values::{Invariance, Op, ValueId};
use super::verify::Established;
use super::{End, NodeId, TraceIr};
use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::flow_state::Root;
use crate::trace::mode::PacketLoads;

type Result<T> = std::result::Result<T, Unsupported>;

/// The position of a value's bytes in packet order, for an argument of an entry.
#[derive(Clone, Copy)]
struct InImage {
    entry: Value,
    /// Offset from the entry.
    at: i32,
    width: u32,
    /// Flags of loads.
    flags: MemFlagsData,
}

/// Emits the processing of one packet by a tree.
///
/// # Errors
/// The tree has an operation for which no code can be generated.
pub(crate) fn emit(g: &mut Emitter<'_>, tree: &TraceIr) -> Result<()> {
    let mut functions: HashMap<String, Vec<&ExternCall>> = HashMap::new();
    for block in walk::all_blocks(g.p) {
        walk::stmts(block, &mut |stmt| {
            if let StmtKind::Extern(call) = &stmt.kind {
                functions.entry(function_name(g.p, call)).or_default().push(call);
            }
        });
    }
    g.begin_at_start();
    let (numbers, known, images) = (numbers(tree), Known::default(), HashMap::new());
    Codegen { ir: tree.clone(), functions, numbers, known, images, g }.tree()
}

/// Bits of the packet that are needed as numbers: to calculate, and to compare by size.
fn numbers(tree: &TraceIr) -> HashSet<ValueId> {
    let mut work: Vec<ValueId> = Vec::new();
    for node in &tree.nodes {
        work.extend(node.guards.iter().map(|guard| guard.condition));
        work.extend(node.end.values());
    }
    let (mut seen, mut numbers) = (HashSet::new(), HashSet::new());
    while let Some(v) = work.pop() {
        if !seen.insert(v) {
            continue;
        }
        let op = &tree.values[v].op;
        let is_bitwise = matches!(
            op,
            Op::Binary(
                BinaryOp::Eq | BinaryOp::Ne | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Concat,
                ..
            )
        );
        if matches!(op, Op::Binary(..) | Op::Cast(_)) && !is_bitwise {
            numbers.extend(op.operands().into_iter().filter(|v| matches!(tree.values[*v].op, Op::Packet { .. })));
        }
        work.extend(op.operands());
    }
    numbers
}

/// An entry that a lookup has found.
#[derive(Clone, Copy)]
struct Entry {
    table: TableId,
    /// The address, and the entry's offset from it.
    address: Value,
    offset: i32,
    /// The same of the table's own entry, if that leads to a profile's member.
    own: (Value, i32),
    /// How it is loaded before its action is known.
    flags: MemFlagsData,
}

/// What has been computed on the way to a point.
#[derive(Clone, Default)]
struct Known {
    /// Numbers.
    limbs: HashMap<ValueId, Vec<Value>>,
    /// Truth values, as I8.
    conditions: HashMap<ValueId, Value>,
    /// Bytes in the order of the packet.
    in_packet_order: HashMap<ValueId, Value>,
    /// Encrypted blocks, as words in the order of the packet.
    blocks: HashMap<ValueId, [Value; 2]>,
    entries: HashMap<ValueId, Entry>,
    /// The addresses of computed places.
    roots: HashMap<ValueId, Root>,
    loads: PacketLoads,
    established: Established,
}

struct Codegen<'e, 'a> {
    g: &'e mut Emitter<'a>,
    ir: TraceIr,
    /// Calls of extern functions and methods, by the name that trees have for them.
    functions: HashMap<String, Vec<&'a ExternCall>>,
    /// Bits of the packet that are needed as numbers.
    numbers: HashSet<ValueId>,
    known: Known,
    /// Bytes of arguments in entries' images, by the value's lowest limb.
    images: HashMap<Value, InImage>,
}

impl Codegen<'_, '_> {
    /// An operation for which no code can be generated.
    fn unsupported<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Unsupported { span: self.g.p.ingress.span, message: what.into() })
    }

    /// Emits the nodes, each behind the one that leads to it.
    fn tree(&mut self) -> Result<()> {
        let mut work = vec![(NodeId(0), None, Known::default())];
        while let Some((id, block, known)) = work.pop() {
            self.known = known;
            if let Some(block) = block {
                self.g.enter(block);
                self.g.set_packet_loads(std::mem::take(&mut self.known.loads));
            }
            let node = self.ir[id].clone();
            let mut has_encrypted = false;
            for guard in &node.guards {
                self.g.at(guard.site.span);
                if !has_encrypted && self.ir.values[guard.condition].invariance == Invariance::AfterCipher {
                    has_encrypted = true;
                    self.encrypt_all(&node)?;
                }
                self.guard(guard.condition, guard.holds)?;
                self.known.established.add(&self.ir.values, guard.condition, guard.holds);
            }
            match node.end {
                End::Exit { site } => {
                    self.g.at(site.span);
                    let exit = self.g.side_exit_block();
                    self.g.b.ins().jump(exit, &[]);
                }
                End::Leaf(leaf) => {
                    self.g.at(self.g.p.deparser.span);
                    self.leaf(&leaf)?;
                }
                End::Branch { condition, yes, no, site } => {
                    self.g.at(site.span);
                    let [then, otherwise] = self.branch(condition)?;
                    for (node, (block, mut known), holds) in [(no, otherwise, false), (yes, then, true)] {
                        known.established.add(&self.ir.values, condition, holds);
                        work.push((node, Some(block), known));
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the side exit unless a condition has an outcome. Parts are tested one by one.
    fn guard(&mut self, condition: ValueId, holds: bool) -> Result<()> {
        for (part, holds) in self.ir.values.conjunction(condition, holds) {
            let (tested, equal) = self.tested(part)?;
            self.g.exit_unless(tested, equal == holds);
        }
        Ok(())
    }

    /// Branches on a condition, whose parts are tested one by one. Returns the blocks where it holds and where it does not, and what
    /// is known there.
    fn branch(&mut self, condition: ValueId) -> Result<[(Block, Known); 2]> {
        let [parts, others] = [true, false].map(|holds| self.ir.values.conjunction(condition, holds));
        let (parts, holds) = if parts.len() >= others.len() { (parts, true) } else { (others, false) };
        let otherwise = self.g.b.create_block();
        let (mut block, mut behind_first) = (None, None);
        for (part, holds) in parts {
            if let Some(block) = block {
                self.g.enter(block);
            }
            let (tested, equal) = self.tested(part)?;
            self.known.loads = self.g.packet_loads();
            behind_first.get_or_insert_with(|| self.known.clone());
            let next = self.g.b.create_block();
            let (yes, no) = if equal == holds { (next, otherwise) } else { (otherwise, next) };
            self.g.b.ins().brif(tested, yes, &[], no, &[]);
            block = Some(next);
        }
        let all = (block.unwrap_or(otherwise), std::mem::take(&mut self.known));
        let some = (otherwise, behind_first.unwrap_or_default());
        Ok(if holds { [all, some] } else { [some, all] })
    }

    /// A truth value as I8, and the outcome of a condition if it is true.
    fn tested(&mut self, condition: ValueId) -> Result<(Value, bool)> {
        match self.ir.values[condition].op {
            Op::Binary(BinaryOp::Ne, a, b) => {
                let equal = self.ir.values.equal(a, b);
                Ok((self.condition(equal)?, false))
            }
            _ => Ok((self.condition(condition)?, true)),
        }
    }

    /// Computes a value. The code counts as that of the statement for which the value was made first.
    fn computing<T>(&mut self, v: ValueId, compute: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.g.b.srcloc();
        if let Some(span) = self.ir.values.span(v) {
            self.g.at(span);
        }
        let computed = compute(self);
        self.g.b.set_srcloc(outer);
        computed
    }

    fn data_type(&self, v: ValueId) -> Type {
        self.ir.values.data_type(v).unwrap_or(Type::Bits(0))
    }

    fn table(&self, name: &str) -> Result<TableId> {
        match self.g.p.tables.iter().position(|table| table.name == name) {
            Some(table) => Ok(TableId(table as u32)),
            None => self.unsupported(format!("the table `{name}`")),
        }
    }

    fn object(&self, name: &str) -> Result<ExternId> {
        match self.g.p.externs.iter().position(|object| object.name == name) {
            Some(object) => Ok(ExternId(object as u32)),
            None => self.unsupported(format!("the object `{name}`")),
        }
    }

    fn value_set(&self, name: &str) -> Result<ValueSetId> {
        match self.g.p.value_sets.iter().position(|set| set.name == name) {
            Some(set) => Ok(ValueSetId(set as u32)),
            None => self.unsupported(format!("the value set `{name}`")),
        }
    }

    /// Prepares for a call: forgets bytes of the packet, which would have to be spilled across the call.
    fn before_call(&mut self) {
        self.known.in_packet_order.clear();
        let values = &self.ir.values;
        self.known.limbs.retain(|v, _| !matches!(values[*v].op, Op::Packet { .. }));
        self.g.before_call();
    }
}
