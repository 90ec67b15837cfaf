//! What a build leaves out.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::Cli;

/// Commands, the features that they need, and whether this build has these.
const COMMANDS: [(&str, &str, bool); 25] = [
    ("asm", "jit", cfg!(feature = "jit")),
    ("trace-ir", "jit", cfg!(feature = "jit")),
    ("profile", "profile", cfg!(feature = "profile")),
    ("fmt", "fmt", cfg!(feature = "fmt")),
    ("fit", "fit", cfg!(feature = "fit")),
    ("rtl", "rtl", cfg!(feature = "rtl")),
    ("testgen", "testgen", cfg!(feature = "testgen")),
    ("p4info", "p4runtime", cfg!(feature = "p4runtime")),
    ("bundle", "p4runtime", cfg!(feature = "p4runtime")),
    ("table", "p4runtime", cfg!(feature = "p4runtime")),
    ("counter", "p4runtime", cfg!(feature = "p4runtime")),
    ("register", "p4runtime", cfg!(feature = "p4runtime")),
    ("meter", "p4runtime", cfg!(feature = "p4runtime")),
    ("trace", "p4runtime", cfg!(feature = "p4runtime")),
    ("as", "bmv2", cfg!(feature = "bmv2")),
    ("switch", "switch", cfg!(feature = "switch")),
    ("tenant", "switch", cfg!(feature = "switch")),
    ("openflow", "openflow", cfg!(feature = "openflow")),
    ("ip", "ip", cfg!(feature = "ip")),
    ("rina", "rina", cfg!(feature = "rina")),
    ("scion", "scion", cfg!(feature = "scion")),
    ("epic", "epic", cfg!(feature = "epic")),
    ("lsp", "lsp", cfg!(feature = "lsp")),
    ("playground", "page", cfg!(feature = "page")),
    ("bench", "bench", cfg!(feature = "bench")),
];

/// The error for a command that the build leaves out; `None` if the error is another one.
pub(crate) fn explain(error: &clap::Error) -> Option<clap::Error> {
    let Some(ContextValue::String(wanted)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (command, feature, _) = COMMANDS.iter().find(|(command, _, there)| command == wanted && !there)?;
    let text =
        format!("this build has no `{command}`: build it with `cargo build -p hopwright-cli --features {feature}`");
    Some(Cli::command().error(ErrorKind::InvalidSubcommand, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_there_or_says_its_feature() {
        let cli = Cli::command();
        for (command, feature, there) in COMMANDS {
            assert_eq!(cli.find_subcommand(command).is_some(), there, "{command}");
            let refused = Cli::command().try_get_matches_from(["hopwright", command]);
            let explained = refused.err().and_then(|error| explain(&error)).map(|error| error.to_string());
            assert_eq!(explained.is_some(), !there, "{command}: {explained:?}");
            assert!(explained.is_none_or(|text| text.contains(&format!("--features {feature}`"))), "{command}");
        }
        let unknown = Cli::command().try_get_matches_from(["hopwright", "sciom"]).unwrap_err();
        assert!(explain(&unknown).is_none());
    }
}
