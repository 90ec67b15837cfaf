//! `hopwright man`: man pages from the definitions that `--help` prints.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::failure::Failure;

/// Writes `hopwright.1`, `hopwright-check.1`, … to `folder`: a page for each command that `--help` shows. The same definitions give
/// the same bytes.
pub(crate) fn run(folder: &Path) -> Result<(), Failure> {
    let failed = |e| Failure::message(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    pages(&command, folder).map_err(failed)
}

fn pages(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        pages(subcommand, folder)?;
    }
    let source = concat!("hopwright ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(source).manual("Hopwright").generate_to(folder)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_help_shows_has_a_page() {
        let folder = std::env::temp_dir().join(format!("hopwright-man-{}", std::process::id()));
        run(&folder).unwrap_or_else(|_| panic!("no pages"));
        let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.1")));
        for command in Cli::command().get_subcommands() {
            let name = format!("hopwright-{}", command.get_name());
            assert_eq!(page(&name).is_ok(), !command.is_hide_set(), "{name}");
        }
        assert!(page("hopwright-table-add").is_ok_and(|text| text.contains("hopwright table add")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
