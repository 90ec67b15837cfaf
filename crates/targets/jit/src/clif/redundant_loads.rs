//! Redundant-load elimination: removes loads of values that an earlier load or store on the same path provides, along
//! chains of blocks without joins.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{AliasRegion, Function, Inst, InstBuilder, InstructionData, Opcode, Type, Value, types};

use crate::clif::cfg::along_chains;
use crate::emit::memory::{Base, place_of};

/// A load: its opcode, address and type.
type Place = (Opcode, Base, i32, Type);

/// The values known at the end of a block, and their regions.
type Loaded = HashMap<Place, (Value, Option<AliasRegion>)>;

/// Runs the pass.
pub(crate) fn run(function: &mut Function) {
    along_chains(function, look_at);
    function.dfg.resolve_all_aliases();
}

fn look_at(function: &mut Function, inst: Inst, loaded: &mut Loaded) {
    let data = function.dfg.insts[inst];
    let opcode = data.opcode();
    let flags = data.memflags_data(&function.dfg);
    if let InstructionData::Load { arg, offset, .. } = data
        && flags.is_some_and(|flags| flags.notrap())
    {
        let result = function.dfg.first_result(inst);
        let (base, at) = place_of(&function.dfg, arg, offset.into());
        let place = (opcode, base, at, function.dfg.value_type(result));
        let known = loaded.get(&place).map(|(known, _)| *known).or_else(|| {
            let (opcode, ty) = otherwise(opcode, place.3)?;
            let (known, _) = *loaded.get(&(opcode, place.1, place.2, ty))?;
            let mut at = FuncCursor::new(function).at_inst(inst);
            at.use_srcloc(inst);
            Some(if ty == types::I64 { at.ins().ireduce(place.3, known) } else { at.ins().uextend(types::I64, known) })
        });
        match known {
            Some(known) => {
                function.layout.remove_inst(inst);
                function.dfg.clear_results(inst);
                function.dfg.change_to_alias(result, known);
            }
            None => {
                loaded.insert(place, (result, flags.and_then(|flags| flags.alias_region())));
            }
        }
    } else if opcode.can_store() && !opcode.can_load() && !opcode.is_call() {
        let (Some(region), InstructionData::Store { args: [value, address], offset, .. }) =
            (flags.and_then(|flags| flags.alias_region()), data)
        else {
            return loaded.clear();
        };
        let (address, from) = place_of(&function.dfg, address, offset.into());
        let to = from + bytes(opcode, function.dfg.value_type(value));
        loaded.retain(|&(opcode, base, at, ty), (_, of)| {
            of.is_some_and(|of| of != region) || (base == address && (at >= to || at + bytes(opcode, ty) <= from))
        });
        if opcode == Opcode::Store {
            loaded.insert((Opcode::Load, address, from, function.dfg.value_type(value)), (value, Some(region)));
        }
    } else if opcode.is_call() || opcode.can_load() || opcode.other_side_effects() {
        loaded.clear();
    }
}

/// The other form of the same load: zero-extended to 64 bits, or plain.
fn otherwise(opcode: Opcode, ty: Type) -> Option<(Opcode, Type)> {
    match (opcode, ty) {
        (Opcode::Load, types::I8) => Some((Opcode::Uload8, types::I64)),
        (Opcode::Load, types::I16) => Some((Opcode::Uload16, types::I64)),
        (Opcode::Load, types::I32) => Some((Opcode::Uload32, types::I64)),
        (Opcode::Uload8, types::I64) => Some((Opcode::Load, types::I8)),
        (Opcode::Uload16, types::I64) => Some((Opcode::Load, types::I16)),
        (Opcode::Uload32, types::I64) => Some((Opcode::Load, types::I32)),
        _ => None,
    }
}

/// Size of an access in bytes.
fn bytes(opcode: Opcode, ty: Type) -> i32 {
    match opcode {
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => 1,
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => 2,
        Opcode::Uload32 | Opcode::Sload32 | Opcode::Istore32 => 4,
        _ => ty.bytes() as i32,
    }
}
