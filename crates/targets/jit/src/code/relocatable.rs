//! Machine code that refers to external symbols by number.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::{ExternalName, Function};
use cranelift_codegen::{CompiledCode, FinalizedRelocTarget};
use serde::{Deserialize, Serialize};

use crate::PrefetchedTable;
use crate::code::libcalls::Libcall;
use crate::code::memory;

/// The functions of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Functions<C> {
    pub whole: C,
    pub reentry: Option<C>,
    pub parse: Option<C>,
    pub egress: Option<C>,
    pub key_prefetcher: Option<(C, Vec<PrefetchedTable>)>,
}

impl<C> Functions<C> {
    /// Converts each function.
    pub(crate) fn map<D, E>(self, mut f: impl FnMut(C) -> Result<D, E>) -> Result<Functions<D>, E> {
        Ok(Functions {
            whole: f(self.whole)?,
            reentry: self.reentry.map(&mut f).transpose()?,
            parse: self.parse.map(&mut f).transpose()?,
            egress: self.egress.map(&mut f).transpose()?,
            key_prefetcher: self.key_prefetcher.map(|(code, tables)| Ok((f(code)?, tables))).transpose()?,
        })
    }
}

/// Relocatable machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Relocatable {
    bytes: Vec<u8>,
    /// Relocations: the offsets of eight-byte addresses, with symbol numbers.
    places: Vec<(u32, u32)>,
}

impl Relocatable {
    /// Creates it from a function and its compiled code.
    ///
    /// # Errors
    /// If there are relocations other than eight-byte absolute addresses.
    pub(crate) fn new(function: &Function, compiled: &CompiledCode) -> Result<Relocatable, String> {
        let wrong = || "the code generator wants to link to other code".to_string();
        let mut places = Vec::new();
        for relocation in compiled.buffer.relocs() {
            let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = relocation.target else {
                return Err(wrong());
            };
            if relocation.kind != Reloc::Abs8 || relocation.addend != 0 {
                return Err(wrong());
            }
            places.push((relocation.offset, function.params.user_named_funcs()[name].index));
        }
        Ok(Relocatable { bytes: compiled.code_buffer().to_vec(), places })
    }

    /// Relocates the code for this process. Symbol 0 is `zeros`; the others are [`Libcall::ALL`].
    pub(crate) fn link(mut self, zeros: u64) -> Result<memory::Code, String> {
        for (offset, number) in self.places {
            let address = match number.checked_sub(1) {
                None => zeros,
                Some(at) => Libcall::ALL.get(at as usize).ok_or("code of another version")?.address(),
            };
            let at = offset as usize;
            let place = self.bytes.get_mut(at..at + 8).ok_or("code of another version")?;
            place.copy_from_slice(&address.to_ne_bytes());
        }
        memory::Code::new(&self.bytes).map_err(|e| format!("no memory for machine code: {e}"))
    }
}
