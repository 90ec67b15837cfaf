//! `hopwright lsp`.

use hopwright_lsp::Ended;

use crate::cli::LspArgs;
use crate::failure::Failure;

/// Serves an editor until it ends the connection.
pub(crate) fn run(args: &LspArgs) -> Result<(), Failure> {
    // There is no other transport.
    let LspArgs { stdio: _ } = args;
    match hopwright_lsp::run().map_err(anyhow::Error::from)? {
        Ended::Properly => Ok(()),
        Ended::Early => Err(Failure::Reported),
    }
}
