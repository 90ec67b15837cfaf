//! Machine code that is made ahead, to be loaded by other processes: it names what is outside of it by numbers, and says
//! what the processor must be able to do.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::{ExternalName, Function};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{CompiledCode, FinalizedRelocTarget};
use hopwright_ir::Pipeline;
use serde::{Deserialize, Serialize};

use crate::code::libcalls::Libcall;
use crate::code::memory;
use crate::code::target::TargetMachine;
use crate::compiler::Compiler;
use crate::{CompiledPipeline, PrefetchedTable, Unsupported};

/// The code of a pipeline, for [`load`]. Can be written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    architecture: String,
    /// Names of what the processor must be able to do.
    features: Vec<String>,
    functions: Functions<Relocatable>,
}

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
    /// The same functions in another form.
    pub fn map<D, E>(self, mut f: impl FnMut(C) -> Result<D, E>) -> Result<Functions<D>, E> {
        Ok(Functions {
            whole: f(self.whole)?,
            reentry: self.reentry.map(&mut f).transpose()?,
            parse: self.parse.map(&mut f).transpose()?,
            egress: self.egress.map(&mut f).transpose()?,
            key_prefetcher: self.key_prefetcher.map(|(code, tables)| Ok((f(code)?, tables))).transpose()?,
        })
    }
}

/// Machine code with places for addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Relocatable {
    bytes: Vec<u8>,
    /// Offsets of places of eight bytes, and the numbers of what is to stand there.
    places: Vec<(u32, u32)>,
}

impl Relocatable {
    /// From a function and what it was compiled to.
    ///
    /// # Errors
    /// If the code refers to anything else than by eight bytes of address.
    pub fn new(function: &Function, compiled: &CompiledCode) -> Result<Relocatable, String> {
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

    /// The code with everything at its place in this process; the zeros are at this address.
    pub fn link(mut self, zeros: u64) -> Result<memory::Code, String> {
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

/// Compiles a verified pipeline for machines like this one, but not only this one. What is made stays right as long as
/// pipeline and compiler do: both belong in one binary.
///
/// # Errors
/// As [`compile`](crate::compile).
pub fn compile_ahead(pipeline: &Pipeline) -> Result<Ahead, Unsupported> {
    let compiler = Compiler::new(pipeline, TargetMachine::Portable)?;
    let functions = compiler.functions(None)?.map(|generated| Ok(generated.code))?;
    let isa = &*compiler.isa;
    Ok(Ahead { architecture: architecture(isa), features: features(isa), functions })
}

/// Loads code that was made ahead from this very pipeline by this very compiler. `None` if this machine is not as the
/// code needs it.
///
/// # Errors
/// As [`compile`](crate::compile).
///
/// # Safety
/// The code must come from [`compile_ahead`] of this version, with this pipeline.
pub unsafe fn load(pipeline: &Pipeline, ahead: Ahead) -> Result<Option<CompiledPipeline>, Unsupported> {
    let compiler = Compiler::new(pipeline, TargetMachine::Host)?;
    let there = features(&*compiler.isa);
    if ahead.architecture != architecture(&*compiler.isa) || !ahead.features.iter().all(|f| there.contains(f)) {
        return Ok(None);
    }
    let zeros = compiler.zeros.as_ptr() as u64;
    let failed = |message| Unsupported { span: pipeline.ingress.span, message };
    let functions = ahead.functions.map(|code| code.link(zeros).map_err(failed))?;
    Ok(Some(compiler.finish(functions)))
}

fn architecture(isa: &dyn TargetIsa) -> String {
    isa.triple().architecture.to_string()
}

fn features(isa: &dyn TargetIsa) -> Vec<String> {
    let flags = isa.isa_flags();
    flags.iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name.to_string()).collect()
}
