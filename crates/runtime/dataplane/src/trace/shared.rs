//! Traces that data planes with the same machine code share. A worker that runs several of them one after the other then finds the code
//! in the processor's caches.

use std::sync::{Arc, Mutex, Weak};

use hopwright_abi::ExternAttributes;

use super::traces::lock;
use crate::jit::{ExitSites, Path, TraceCode, TracePass, Unsupported};

/// The traces of all data planes with the same machine code, and the places of their side exits.
#[derive(Default)]
pub(crate) struct SharedTraces {
    /// Locked while traces are compiled.
    traces: Mutex<Vec<Shareable>>,
    /// Locked for moments: who reads counts does not wait for a compiler.
    sites: Mutex<ExitSites>,
}

/// Traces that may be in use, and what they were compiled from.
struct Shareable {
    code: Weak<TraceCode>,
    paths: Vec<Path>,
    repeatable: Vec<bool>,
    without: Vec<TracePass>,
}

impl Shareable {
    /// Whether the traces are of the same paths. Which path is the most frequent decides how the code is laid out; the order of the others
    /// changes by chance.
    fn is_of(&self, paths: &[Path], repeatable: &[bool], without: &[TracePass]) -> bool {
        self.without == without
            && self.repeatable == repeatable
            && self.paths.len() == paths.len()
            && self.paths.first() == paths.first()
            && paths.iter().all(|path| self.paths.contains(path))
    }
}

impl SharedTraces {
    /// Traces of these paths that a data plane uses, or those that `compile` makes. Code that contains addresses of an extern object's
    /// functions is not shared.
    pub(crate) fn find_or_compile(
        &self,
        paths: &[Path],
        attributes: &[ExternAttributes],
        without: &[TracePass],
        compile: impl FnOnce(&mut ExitSites) -> Result<Option<TraceCode>, Unsupported>,
    ) -> Result<Option<Arc<TraceCode>>, Unsupported> {
        let mut traces = lock(&self.traces);
        let repeatable: Vec<bool> = attributes.iter().map(|it| it.repeatable).collect();
        let shareable = attributes.iter().all(|it| it.block.is_none());
        traces.retain(|it| it.code.strong_count() > 0);
        let mut fitting = traces.iter().filter(|it| shareable && it.is_of(paths, &repeatable, without));
        if let Some(code) = fitting.find_map(|it| it.code.upgrade()) {
            return Ok(Some(code));
        }
        let mut sites = lock(&self.sites).clone();
        let code = compile(&mut sites)?.map(Arc::new);
        *lock(&self.sites) = sites;
        if let Some(code) = code.as_ref().filter(|_| shareable) {
            let (code, paths, without) = (Arc::downgrade(code), paths.to_vec(), without.to_vec());
            traces.push(Shareable { code, paths, repeatable, without });
        }
        Ok(code)
    }

    /// The places of side exits by number, see [`ExitSites::texts`].
    pub(crate) fn exit_sites(&self) -> Vec<String> {
        lock(&self.sites).texts().to_vec()
    }
}
