//! The blocks of a package (P4-16, section 17): what their parameters stand for, and running them.

use std::collections::HashMap;

use hopwright_sema::architecture::{Block, BlockRole, ParamRole};
use hopwright_sema::hir::{InstanceId, Param, Type, TypedProgram, VarId};
use num_bigint::BigInt;

use crate::machine::{Machine, Packet, Result};
use crate::state::State;
use crate::value::{Value, initial};

/// What an architecture passes to the blocks of a pipe, by what it stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passed {
    pipe: usize,
    values: HashMap<ParamRole, Value>,
}

/// What the parameters of a block stand for, by position or by their types; none if that is not known.
fn roles(program: &TypedProgram, block: &Block, id: InstanceId) -> Vec<Option<ParamRole>> {
    let by_type = program.architecture().map_or(&[][..], |a| a.by_type);
    let role = |(at, param): (usize, &Param)| match &program[param.var].ty {
        _ if at < block.params.len() => Some(block.params[at]),
        Type::Struct(id) | Type::Header(id) => {
            by_type.iter().find(|(name, _)| program[*id].name == *name).map(|(_, role)| *role)
        }
        _ => None,
    };
    program[id].params.iter().enumerate().map(role).collect()
}

/// The parameters of a pipe's blocks that stand for something.
pub(crate) fn params(program: &TypedProgram, pipe: usize) -> Vec<(ParamRole, VarId)> {
    let blocks = program.architecture().map_or(&[][..], |a| a.blocks);
    let instances = program.main.blocks.iter().skip(pipe * blocks.len());
    let all = blocks.iter().zip(instances).flat_map(|(block, (_, id))| {
        let vars = program[*id].params.iter().map(|p| p.var);
        roles(program, block, *id).into_iter().zip(vars)
    });
    all.filter_map(|(role, var)| Some((role?, var))).collect()
}

/// The type of the parameters of a pipe's blocks that stand for something.
pub(crate) fn type_of(program: &TypedProgram, pipe: usize, role: ParamRole) -> Option<&Type> {
    params(program, pipe).into_iter().find(|(r, _)| *r == role).map(|(_, var)| &program[var].ty)
}

impl Passed {
    /// What is passed to blocks of a pipe.
    pub(crate) fn of_pipe(pipe: usize) -> Passed {
        Passed { pipe, values: HashMap::new() }
    }

    /// The number of the pipe.
    pub(crate) fn pipe(&self) -> usize {
        self.pipe
    }

    /// What stands for a role; an initial value if nothing was passed yet.
    pub(crate) fn get(&self, program: &TypedProgram, role: ParamRole) -> Value {
        let fresh = || type_of(program, self.pipe, role).map_or(Value::Nothing, |ty| initial(program, ty));
        self.values.get(&role).cloned().unwrap_or_else(fresh)
    }

    /// Passes a value from now on.
    pub(crate) fn put(&mut self, role: ParamRole, value: Value) {
        self.values.insert(role, value);
    }

    /// Passes an initial value from now on.
    pub(crate) fn reset(&mut self, role: ParamRole) {
        self.values.remove(&role);
    }

    /// A member of a struct, by name.
    pub(crate) fn member(&self, program: &TypedProgram, role: ParamRole, name: &str) -> Value {
        let at = self.member_at(program, role, name);
        at.and_then(|at| self.get(program, role).members().get(at).cloned()).unwrap_or(Value::Nothing)
    }

    /// Sets a member of a struct, if it has one of this name.
    pub(crate) fn set(&mut self, program: &TypedProgram, role: ParamRole, name: &str, value: Value) {
        let Some(at) = self.member_at(program, role, name) else { return };
        let mut whole = self.get(program, role);
        if let Some(member) = whole.members_mut().get_mut(at) {
            *member = value;
        }
        self.put(role, whole);
    }

    /// The same for numbers.
    pub(crate) fn set_number(&mut self, program: &TypedProgram, role: ParamRole, name: &str, number: u64) {
        let Some(Type::Struct(id)) = type_of(program, self.pipe, role) else { return };
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
        let Some((at, block)) = program.architecture().and_then(|a| a.block(role)) else { return Ok(()) };
        let count = program.architecture().map_or(0, |a| a.blocks.len());
        let Some((_, id)) = program.main.blocks.get(self.pipe * count + at) else { return Ok(()) };
        let (id, roles) = (*id, roles(program, block, *id));
        let value = |role: &Option<ParamRole>| role.map_or(Value::Nothing, |role| self.get(program, role));
        let mut args: Vec<Value> = roles.iter().map(value).collect();
        let mut machine = Machine::new(program, state, packet, now_us);
        let intrinsic = roles.iter().position(|role| *role == Some(ParamRole::Intrinsic));
        machine.intrinsic = intrinsic.and_then(|at| program[id].params.get(at)).map(|p| p.var);
        let result = machine.package_block(id, &mut args);
        for (role, value) in roles.into_iter().zip(args) {
            if let Some(role) = role {
                self.put(role, value);
            }
        }
        result
    }

    fn member_at(&self, program: &TypedProgram, role: ParamRole, name: &str) -> Option<usize> {
        let Type::Struct(id) = type_of(program, self.pipe, role)? else { return None };
        program[*id].fields.iter().position(|f| f.name == name)
    }
}
