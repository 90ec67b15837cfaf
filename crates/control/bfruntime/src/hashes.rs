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

    /// The result for data of zeros: as it was written, or else of the bits that the program uses.
    fn seed(&self, hash: &HashObject) -> BigUint {
        if let Some(seed) = self.configuration.seed {
            return seed.into();
        }
        let unrotated = Configuration { rotate: 0, ..self.configuration.clone() };
        hash.compute(&unrotated, &vec![BigUint::ZERO; hash.fields.len()])
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

#[cfg(test)]
mod tests {
    use hopwright_ir::hash_object::{CRC32, Field};

    use super::*;

    #[test]
    fn a_seed_is_read_as_it_was_written() {
        let fields = vec![Field { name: "hdr.a".into(), width: 32, constant: None }];
        let (name, function) = ("I.h".to_string(), Function::Crc(CRC32));
        let hash = HashObject { name, fields, symmetric: Vec::new(), function, width: 32, used: (31, 16) };
        let read = |seed| {
            let configuration = Configuration { seed, rotate: 3, ..Configuration::default() };
            Changed { configuration, ..Changed::default() }.seed(&hash)
        };
        // Bits that the program does not use, too.
        assert_eq!(read(Some(5)), BigUint::from(5u32));
        assert_eq!(read(None), BigUint::from(CRC32.of(&[0; 4]) & 0xffff_0000));
    }
}
