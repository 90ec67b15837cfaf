//! The blocks of a package (P4-16, section 17): what their parameters stand for, and running them.

use std::collections::HashMap;

use hopwright_sema::architecture::{BlockRole, ParamRole};
use hopwright_sema::hir::{InstanceId, Type, TypedProgram, VarId};
use num_bigint::BigInt;

use crate::machine::{Machine, Packet, Result};
use crate::state::State;
use crate::value::{Value, initial};

/// What an architecture passes to blocks, by what it stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed(HashMap<ParamRole, Value>);

/// The block with a role, and the roles of its parameters.
fn block(program: &TypedProgram, role: BlockRole) -> Option<(InstanceId, &'static [ParamRole])> {
    let (at, block) = program.architecture()?.block(role)?;
    Some((program.main.blocks.get(at)?.1, block.params))
}

/// All parameters of blocks with what they stand for.
pub(crate) fn params(program: &TypedProgram) -> Vec<(ParamRole, VarId)> {
    let blocks = program.architecture().map_or(&[][..], |a| a.blocks);
    let all = blocks.iter().zip(&program.main.blocks);
    all.flat_map(|(block, (_, id))| block.params.iter().copied().zip(program[*id].params.iter().map(|p| p.var)))
        .collect()
}

/// The type of the parameters that stand for something.
pub(crate) fn type_of(program: &TypedProgram, role: ParamRole) -> Option<&Type> {
    params(program).into_iter().find(|(r, _)| *r == role).map(|(_, var)| &program[var].ty)
}

impl Passed {
    /// What stands for a role; an initial value if nothing was passed yet.
    pub(crate) fn get(&self, program: &TypedProgram, role: ParamRole) -> Value {
        let fresh = || type_of(program, role).map_or(Value::Nothing, |ty| initial(program, ty));
        self.0.get(&role).cloned().unwrap_or_else(fresh)
    }

    /// Passes a value from now on.
    pub(crate) fn put(&mut self, role: ParamRole, value: Value) {
        self.0.insert(role, value);
    }

    /// Passes an initial value from now on.
    pub(crate) fn reset(&mut self, role: ParamRole) {
        self.0.remove(&role);
    }

    /// A member of a struct, by name.
    pub(crate) fn member(&self, program: &TypedProgram, role: ParamRole, name: &str) -> Value {
        let at = member_at(program, role, name);
        at.and_then(|at| self.get(program, role).members().get(at).cloned()).unwrap_or(Value::Nothing)
    }

    /// Sets a member of a struct, if it has one of this name.
    pub(crate) fn set(&mut self, program: &TypedProgram, role: ParamRole, name: &str, value: Value) {
        let Some(at) = member_at(program, role, name) else { return };
        let mut whole = self.get(program, role);
        if let Some(member) = whole.members_mut().get_mut(at) {
            *member = value;
        }
        self.put(role, whole);
    }

    /// The same for numbers.
    pub(crate) fn set_number(&mut self, program: &TypedProgram, role: ParamRole, name: &str, number: u64) {
        let Some(Type::Struct(id)) = type_of(program, role) else { return };
        let Some(field) = program[*id].fields.iter().find(|f| f.name == name) else { return };
        self.set(program, role, name, Value::Number(crate::number::fit(BigInt::from(number), &field.ty)));
    }

    /// Runs the block with a role. What it changes is passed to the next one, also if it ends with a parser's error.
    pub(crate) fn run(
        &mut self,
        program: &TypedProgram,
        state: &mut State,
        role: BlockRole,
        packet: &mut Packet,
        now_us: u64,
    ) -> Result<()> {
        let Some((id, roles)) = block(program, role) else { return Ok(()) };
        let mut args: Vec<Value> = roles.iter().map(|role| self.get(program, *role)).collect();
        let mut machine = Machine::new(program, state, packet, now_us);
        let intrinsic = roles.iter().position(|role| *role == ParamRole::Intrinsic);
        machine.intrinsic = intrinsic.and_then(|at| program[id].params.get(at)).map(|p| p.var);
        let result = machine.package_block(id, &mut args);
        for (role, value) in roles.iter().zip(args) {
            self.put(*role, value);
        }
        result
    }
}

fn member_at(program: &TypedProgram, role: ParamRole, name: &str) -> Option<usize> {
    let Type::Struct(id) = type_of(program, role)? else { return None };
    program[*id].fields.iter().position(|f| f.name == name)
}
