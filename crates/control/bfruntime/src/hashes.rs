//! Hashes that controllers change: the tables `….configure` (what is hashed), `….algorithm` (what is computed of it) and `….compute` (the
//! result for given values) of a `Hash` object, and which member of an action selector's group a hash selects.

mod algorithms;
mod fields;

use hopwright_ir::hash_object::{Configuration, Function, HashObject};
use hopwright_p4runtime::{Device, Hashes, Packets};
use num_bigint::BigUint;

use crate::failure::{Result, unimplemented};
use crate::schema::Schema;
use crate::state::{Change, State};

pub(crate) use algorithms::{actions, algorithm, read_algorithm, settings};
pub(crate) use fields::{computed, configured, containers, keys, read_fields, slice};

/// What a controller has changed of a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub configuration: Configuration,
    /// Has no effect, as on the device.
    pub msb: bool,
    /// The function is one of the controller's own.
    pub user_defined: bool,
}

impl Changed {
    fn function(&self, hash: &HashObject) -> Function {
        self.configuration.function.unwrap_or(hash.function)
    }

    /// The result for data of zeros, of the bits that the program uses.
    fn seed(&self, hash: &HashObject) -> BigUint {
        let unrotated = Configuration { rotate: 0, ..self.configuration.clone() };
        let (_, low) = hash.used;
        let zeros = vec![BigUint::ZERO; hash.fields.len()];
        hash.compute(&unrotated, &zeros) >> low << low
    }
}

/// Carries out the changes of hashes among these changes. Whether there are any. `alone`: a request has no others than in `changes`.
///
/// # Errors
/// The request changes other things, too, or the device cannot run the program so, or can only be read.
pub(crate) fn apply(state: &State, device: &Device, changes: &[Change], alone: bool) -> Result<bool> {
    let mut next = state.hashes.clone();
    let (mut changed, mut alone) = (false, alone);
    for change in changes {
        match change {
            Change::Hash(id, hash) => {
                next.insert(*id, hash.clone());
                changed = true;
            }
            _ => alone = false,
        }
    }
    if !changed {
        return Ok(false);
    }
    if !alone {
        return Err(unimplemented("a request that changes hashes changes nothing else"));
    }
    // What every write needs, be it one that changes no code.
    device.write_batch(&[], Packets::MeetParts, || Ok(()))?;
    let (before, next) = (configurations(&state.schema, &state.hashes), configurations(&state.schema, &next));
    if before != next {
        device.configure_hashes(state.generation, &next)?;
    }
    Ok(true)
}

/// The configurations of hashes that are not as they are declared, by the names of the objects.
fn configurations<'c>(schema: &Schema, changed: impl IntoIterator<Item = (&'c u32, &'c Changed)>) -> Hashes {
    let usual = Configuration::default();
    let all = changed.into_iter().filter(|(_, changed)| changed.configuration != usual);
    all.filter_map(|(id, changed)| Some((schema.hashes.get(id)?.name.clone(), changed.configuration.clone()))).collect()
}
