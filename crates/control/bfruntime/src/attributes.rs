//! Attributes of tables: how a table behaves as a whole. They are kept for each table; `pre_device_config` is one of the device.

use std::collections::BTreeMap;

use hopwright_control::entity::Cells;
use hopwright_control::{Entity, Operation, Update};
use hopwright_p4runtime::Device;
use num_bigint::BigUint;

use crate::failure::{Result, invalid, not_found, unimplemented};
use crate::proto::mode::{PredefinedMode, Scope as Wanted};
use crate::proto::table_attribute::Attribute;
use crate::proto::{self, ByteCountAdj, DynKeyMask, EntryScope, KeyFieldMask, Mode, PreDeviceConfig, TableAttribute};
use crate::schema::{Key, Object, Table};
use crate::state::{Change, State};
use crate::value;
use crate::write::{ALL_PIPES, Counting, Effects, objects};

/// The bit of the register of the global replication id that says that there is one.
const IS_GLOBAL: u32 = 1 << 16;

/// Which pipes share the entries of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    All,
    None,
    /// Those of each byte.
    Sets(u64),
}

impl Sharing {
    fn of(state: &State, table: &Table) -> Sharing {
        let scope = state.scopes.get(&table.id).and_then(|scope| scope.pipe_scope);
        match scope.and_then(|scope| scope.scope) {
            Some(Wanted::UserDefined(sets)) => Sharing::Sets(sets),
            Some(Wanted::Predef(mode)) if mode == PredefinedMode::Single as i32 => Sharing::None,
            _ => Sharing::All,
        }
    }

    /// The pipe that a controller names to reach the entries of this one; `None` if none have it.
    fn owner(self, pipe: u32) -> Option<u32> {
        match self {
            Sharing::All => Some(ALL_PIPES),
            Sharing::None => Some(pipe),
            Sharing::Sets(sets) => {
                let set = sets.to_le_bytes().into_iter().find(|set| pipe < 8 && set >> pipe & 1 == 1);
                set.map(|set| set.trailing_zeros())
            }
        }
    }
}

/// The pipe that entries of a table are in: all, or that of its pipeline if pipes do not share entries.
pub(crate) fn pipe_of_entries(state: &State, table: &Table) -> u32 {
    match Sharing::of(state, table) {
        Sharing::All => ALL_PIPES,
        Sharing::None | Sharing::Sets(_) => table.pipes.first().copied().unwrap_or_default().into(),
    }
}

/// Checks that a write to a table may be for this pipe.
///
/// # Errors
/// The device has no such pipe, or pipes do not share the table's entries as the request needs it.
pub(crate) fn check_write(state: &State, table: &Table, target: &proto::TargetDevice) -> Result<()> {
    let sharing = Sharing::of(state, table);
    let pipe = check_pipe(state, table, target.pipe_id)?;
    match (pipe, sharing) {
        _ if !matches!(table.object, Object::Match { .. } | Object::ValueSet | Object::Register) => {}
        (None, Sharing::All) | (Some(_), Sharing::All) => {}
        (None, _) => {
            return Err(invalid(format!("`{}`: an entry is of one pipe, as its `EntryScope` says", table.name)));
        }
        (Some(pipe), sharing) if sharing.owner(pipe) == Some(pipe) => {}
        (Some(pipe), _) => {
            return Err(invalid(format!(
                "`{}`: pipe {pipe} is not the first of a set in its `EntryScope`",
                table.name
            )));
        }
    }
    if table.object == Object::ValueSet {
        let single = |mode: Option<Mode>| {
            mode.and_then(|mode| mode.scope) == Some(Wanted::Predef(PredefinedMode::Single as i32))
        };
        let scope = state.scopes.get(&table.id).copied().unwrap_or_default();
        for (mode, given, what) in
            [(scope.gress_scope, target.direction, "direction"), (scope.prsr_scope, target.prsr_id, "parser")]
        {
            if single(mode) && given == ALL {
                return Err(invalid(format!("`{}`: a member is of one {what}, as its `EntryScope` says", table.name)));
            }
        }
    }
    Ok(())
}

/// All directions or parsers.
const ALL: u32 = 0xff;

/// Checks that a read of a table may be for this pipe, and finds something there.
///
/// # Errors
/// The device has no such pipe; or nothing is found: what is not read from hardware is found by the pipe that it was written to.
pub(crate) fn check_read(state: &State, table: &Table, pipe: u32, from_hardware: bool, by_handle: bool) -> Result<()> {
    let sharing = Sharing::of(state, table);
    let found = match check_pipe(state, table, pipe)? {
        _ if !matches!(table.object, Object::Match { .. } | Object::ValueSet) => true,
        None => by_handle || sharing == Sharing::All,
        Some(pipe) => match sharing.owner(pipe) {
            Some(owner) => from_hardware || owner == pipe,
            None => false,
        },
    };
    match found {
        true => Ok(()),
        false => Err(not_found(format!("`{}` has no entries for this pipe", table.name))),
    }
}

/// Checks that the default entry of a table may be read for this pipe.
///
/// # Errors
/// As [`check_read`], and if pipes do not share the table.
pub(crate) fn check_default(state: &State, table: &Table, pipe: u32) -> Result<()> {
    let sharing = Sharing::of(state, table);
    let found = match check_pipe(state, table, pipe)? {
        None => sharing == Sharing::All,
        Some(pipe) => sharing.owner(pipe).is_some(),
    };
    match found {
        true => Ok(()),
        false => Err(invalid(format!("`{}`: a default entry is of one pipe, as its `EntryScope` says", table.name))),
    }
}

/// The pipe of a request; `None` for all of them.
fn check_pipe(state: &State, table: &Table, pipe: u32) -> Result<Option<u32>> {
    if pipe == ALL_PIPES {
        return Ok(None);
    }
    let known = table.pipes.is_empty() || table.pipes.iter().any(|known| u32::from(*known) == pipe);
    match known {
        true => Ok(Some(pipe)),
        false if pipe < state.schema.pipes => {
            Err(invalid(format!("`{}` is in another pipe than {pipe}: {:?}", table.name, table.pipes)))
        }
        false => Err(invalid(format!("there is no pipe {pipe}: the device has {}", state.schema.pipes))),
    }
}

/// What setting an attribute changes.
///
/// # Errors
/// The table has no such attribute, or it is not supported.
pub(crate) fn set(state: &State, device: &Device, request: &TableAttribute) -> Result<Effects> {
    let table = crate::write::table(&state.schema, request.table_id)?;
    let attribute = request.attribute.as_ref().ok_or_else(|| invalid("the attribute is missing"))?;
    let change = match (attribute, table.object) {
        (
            Attribute::EntryScope(scope),
            Object::Match { .. } | Object::ValueSet | Object::Register | Object::Counter | Object::Meter(_),
        ) => set_scope(state, device, table, *scope)?,
        (Attribute::IdleTable(settings), Object::Match { idle: true, .. }) => Change::IdleTable(table.id, *settings),
        (Attribute::ByteCountAdj(by), Object::Match { meter: Some(_), .. } | Object::Meter(_)) => {
            let counting = adjust(device, table, by.byte_count_adjust)?;
            return Ok(Effects { counts: vec![counting], ..Effects::default() });
        }
        (Attribute::DynKeyMask(masks), Object::Match { .. }) => return mask_keys(device, table, masks),
        (Attribute::PreDeviceConfig(config), Object::MulticastGroups) => return replication(state, *config),
        // Clients that want notifications have them, and counts are those of the moment.
        (Attribute::PortStatusNotify(_), Object::Ports) | (Attribute::IntvlMs(_), Object::PortCounts) => {
            return Ok(Effects::default());
        }
        _ => return Err(unsupported(table)),
    };
    Ok(Effects { changes: vec![change], ..Effects::default() })
}

/// A table's attribute, of the kind that the request has.
///
/// # Errors
/// As [`set`].
pub(crate) fn get(state: &State, device: &Device, request: &TableAttribute) -> Result<TableAttribute> {
    let table = crate::write::table(&state.schema, request.table_id)?;
    let attribute = request.attribute.as_ref().ok_or_else(|| invalid("the attribute is missing"))?;
    let found = match (attribute, table.object) {
        (Attribute::EntryScope(_), Object::Match { .. } | Object::ValueSet | Object::Register) => {
            Attribute::EntryScope(state.scopes.get(&table.id).copied().unwrap_or_else(shared))
        }
        (Attribute::IdleTable(_), Object::Match { idle: true, .. }) => {
            Attribute::IdleTable(state.idle.settings(table.id))
        }
        (Attribute::ByteCountAdj(_), Object::Match { meter: Some(_), .. } | Object::Meter(_)) => {
            let byte_count_adjust = metered(device, table, |meters| Ok(meters.adjustment()))?;
            Attribute::ByteCountAdj(ByteCountAdj { byte_count_adjust })
        }
        (Attribute::DynKeyMask(_), Object::Match { .. }) if table.key_masks.is_some() => {
            Attribute::DynKeyMask(key_masks(state, table))
        }
        (Attribute::PreDeviceConfig(_), Object::MulticastGroups) => Attribute::PreDeviceConfig(state.replication),
        _ => return Err(unsupported(table)),
    };
    Ok(TableAttribute { table_id: table.id, attribute: Some(found) })
}

fn unsupported(table: &Table) -> hopwright_p4runtime::Failure {
    unimplemented(format!("`{}` has no such attribute", table.name))
}

/// That of a table whose entries all pipes share.
fn shared() -> EntryScope {
    let all = Some(Mode { scope: Some(Wanted::Predef(PredefinedMode::All as i32)), args: ALL.into() });
    EntryScope { gress_scope: all, pipe_scope: all, prsr_scope: all }
}

fn set_scope(state: &State, device: &Device, table: &Table, given: EntryScope) -> Result<Change> {
    let before = state.scopes.get(&table.id).copied().unwrap_or_else(shared);
    let after = EntryScope {
        gress_scope: given.gress_scope.or(before.gress_scope),
        pipe_scope: given.pipe_scope.or(before.pipe_scope),
        prsr_scope: given.prsr_scope.or(before.prsr_scope),
    };
    // One set of entries is all that pipes with the same pipeline have.
    if table.pipes.len() > 1 {
        let mut next = state.clone();
        next.scopes.insert(table.id, after);
        let sharing = Sharing::of(&next, table);
        let owners: Vec<_> = table.pipes.iter().map(|pipe| sharing.owner((*pipe).into())).collect();
        if owners.iter().any(|owner| *owner != owners[0]) {
            return Err(unimplemented(format!("`{}`: pipes {:?} share its entries", table.name, table.pipes)));
        }
    }
    if before.pipe_scope != after.pipe_scope && has_entries(device, table)? {
        return Err(invalid(format!("`{}` has entries: they are deleted before its `EntryScope` changes", table.name)));
    }
    Ok(Change::Scope(table.id, after))
}

fn has_entries(device: &Device, table: &Table) -> Result<bool> {
    match table.object {
        Object::Match { .. } => device.read_model(Some(table.id), |model| {
            let found = model.schema().table(table.id)?;
            Ok(!found.const_entries && !model.control()[found.at].entries().is_empty())
        }),
        Object::ValueSet => Ok(!crate::write::value_set(device, table.id)?.is_empty()),
        _ => Ok(false),
    }
}

fn all_ones(key: &Key) -> BigUint {
    (BigUint::from(1u32) << key.ty.bits()) - 1u32
}

/// Sets masks of keys. A key that the request leaves out is matched as a whole.
fn mask_keys(device: &Device, table: &Table, given: &DynKeyMask) -> Result<Effects> {
    let Some(register) = table.key_masks else { return Err(unsupported(table)) };
    if has_entries(device, table)? {
        return Err(invalid(format!("`{}` has entries: they are deleted before its masks change", table.name)));
    }
    let mut masks: BTreeMap<u32, BigUint> = table.keys.iter().map(|key| (key.id, all_ones(key))).collect();
    for field in &given.fields {
        let key = table.keys.iter().find(|key| key.id == field.field_id);
        let key = key.ok_or_else(|| invalid(format!("`{}` has no key field {}", table.name, field.field_id)))?;
        masks.insert(key.id, value::number(&key.name, key.ty.bits(), &field.mask)?);
    }
    let mut effects = Effects::default();
    for (at, key) in (0..).zip(&table.keys) {
        let cells = Cells { object: register, index: Some(at) };
        let entity = Entity::Register(cells, masks[&key.id].clone());
        effects.updates.push(Update { operation: Operation::Modify, entity });
    }
    effects.changes.push(Change::KeyMasks(table.id, masks));
    Ok(effects)
}

fn key_masks(state: &State, table: &Table) -> DynKeyMask {
    let set = state.key_masks.get(&table.id);
    let mask = |key: &Key| set.and_then(|masks| masks.get(&key.id)).cloned().unwrap_or_else(|| all_ones(key));
    let field = |key: &Key| KeyFieldMask { field_id: key.id, mask: value::bytes(&mask(key), key.ty.bits()) };
    DynKeyMask { fields: table.keys.iter().map(field).collect() }
}

/// Looks at the meters of a table: of its entries, or of an array.
fn metered<T>(
    device: &Device,
    table: &Table,
    look: impl FnOnce(hopwright_dataplane::MeterArray<'_>) -> Result<T>,
) -> Result<T> {
    device.read_model(Some(table.id), |model| {
        let object = match table.object {
            Object::Match { .. } => model.schema().table(table.id)?.direct_meter.unwrap_or_default(),
            _ => table.id,
        };
        look(model.control().meter(model.extern_object(object)?)?)
    })
}

fn adjust(device: &Device, table: &Table, bytes: i32) -> Result<Counting> {
    // A device that cannot do it refuses what it does already.
    metered(device, table, |meters| Ok(meters.set_adjustment(meters.adjustment())?))?;
    let object = device.read_model(Some(table.id), |model| {
        let id = match table.object {
            Object::Match { .. } => model.schema().table(table.id)?.direct_meter.unwrap_or_default(),
            _ => table.id,
        };
        Ok((model.vdp().clone(), model.extern_object(id)?))
    })?;
    Ok(Counting::MeterBytes(object.0, object.1, bytes))
}

/// Settings of packet replication. The global replication id counts for level-2 exclusion; the others are kept.
fn replication(state: &State, given: PreDeviceConfig) -> Result<Effects> {
    let before = state.replication;
    let mut effects = Effects::default();
    if let Some(rid) = given.pre_global_rid {
        let rid = u16::try_from(rid.global_rid).map_err(|_| invalid("a replication id has 16 bits"))?;
        if let Some(register) = state.schema.global_rid_register {
            let value = if rid == 0 { 0 } else { IS_GLOBAL | u32::from(rid) };
            effects = objects::register(Cells { object: register, index: Some(0) }, value.into());
        }
    }
    effects.changes.push(Change::Replication(PreDeviceConfig {
        pre_global_rid: given.pre_global_rid.or(before.pre_global_rid),
        pre_port_protection: given.pre_port_protection.or(before.pre_port_protection),
        pre_fast_failover: given.pre_fast_failover.or(before.pre_fast_failover),
        pre_max_nodes_before_yield: given.pre_max_nodes_before_yield.or(before.pre_max_nodes_before_yield),
        pre_max_node_threshold: given.pre_max_node_threshold.or(before.pre_max_node_threshold),
    }));
    Ok(effects)
}
