//! One module per question that editors ask.

pub(crate) mod actions;
pub(crate) mod calls;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod diagnostics;
pub(crate) mod formatting;
pub(crate) mod goto;
pub(crate) mod hints;
pub(crate) mod hover;
pub(crate) mod outline;
pub(crate) mod references;
pub(crate) mod rename;
pub(crate) mod signature;
pub(crate) mod tokens;
