//! L-values (P4-16 6.7): what may be assigned to, or be an `out` or `inout` argument.

use hopwright_sema::hir::{Type, VarId};

use crate::number;
use crate::value::Value;

/// A step from a value to a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A member of a struct, header, union or tuple.
    Member(usize),
    /// An element of a stack or array; there may be none with this index.
    Element(usize),
}

/// An l-value whose indices have been evaluated, so that nothing changes what it refers to (6.8, step 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The variable.
    pub(crate) var: VarId,
    /// The part of it.
    pub(crate) path: Vec<Step>,
    /// Bits from one down to another of that, which has this type.
    pub(crate) slice: Option<(u32, u32, Type)>,
    /// For an element that `next` gave: how many steps lead to its stack.
    pub(crate) next_of: Option<usize>,
}

impl Place {
    /// A variable.
    pub(crate) fn of(var: VarId) -> Place {
        Place { var, path: Vec::new(), slice: None, next_of: None }
    }

    /// A part of it.
    pub(crate) fn then(mut self, step: Step) -> Place {
        self.path.push(step);
        self
    }
}

/// The part of a value that steps lead to; `None` beyond the end of a stack.
pub(crate) fn part<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Member(at) | Step::Element(at) => value.members().get(*at),
    })
}

fn part_mut<'v>(value: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Member(at) | Step::Element(at) => value.members_mut().get_mut(*at),
    })
}

/// Changes a part of a value; nothing happens beyond the end of a stack (8.26).
///
/// If that makes a member of a header union valid, all others become invalid; if the member is invalid afterwards, the
/// whole union is (8.20: `u.hi = e`, `u.hi.setValid()`, `u.hi.setInvalid()`).
pub(crate) fn change(value: &mut Value, path: &[Step], f: impl FnOnce(&mut Value)) {
    let Some((last, before)) = path.split_last() else { return f(value) };
    let Some(parent) = part_mut(value, before) else { return };
    let (Step::Member(at) | Step::Element(at)) = *last;
    let Some(target) = parent.members_mut().get_mut(at) else { return };
    f(target);
    let valid = target.is_valid();
    if let Value::Union(members) = parent {
        for (other, member) in members.iter_mut().enumerate() {
            if other != at || !valid {
                member.invalidate();
            }
        }
    }
}

/// The place's current value; `None` beyond the end of a stack.
pub(crate) fn read(vars: &[Value], place: &Place) -> Option<Value> {
    let value = part(&vars[place.var.0 as usize], &place.path)?;
    Some(match place.slice {
        Some((high, low, _)) => Value::Number(number::slice(&value.number(), high, low)),
        None => value.clone(),
    })
}

/// Assigns (12.1).
pub(crate) fn write(vars: &mut [Value], place: &Place, new: Value) {
    change(&mut vars[place.var.0 as usize], &place.path, |target| match &place.slice {
        Some((high, low, ty)) => {
            let whole = number::with_slice(&target.number(), *high, *low, &new.number());
            *target = Value::Number(number::fit(whole, ty));
        }
        None => *target = new,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(valid: bool) -> Value {
        Value::Header { valid, fields: vec![] }
    }

    #[test]
    fn at_most_one_member_of_a_union_is_valid() {
        let mut union = Value::Union(vec![header(true), header(false)]);
        change(&mut union, &[Step::Member(1)], |h| *h = header(true));
        assert_eq!(union, Value::Union(vec![header(false), header(true)]));
        change(&mut union, &[Step::Member(0)], |h| *h = header(false));
        assert_eq!(union, Value::Union(vec![header(false), header(false)]));
    }

    #[test]
    fn nothing_is_behind_the_end_of_a_stack() {
        let mut vars = vec![Value::Stack { next: 0, elements: vec![Value::Bool(false)] }];
        let beyond = Place::of(VarId(0)).then(Step::Element(1));
        write(&mut vars, &beyond, Value::Bool(true));
        assert_eq!(read(&vars, &beyond), None);
        assert_eq!(vars[0].members(), [Value::Bool(false)]);
    }
}
