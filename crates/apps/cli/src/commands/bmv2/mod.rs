//! `hopwright` by the names of BMv2's switches, of p4c and of Intel's tools for Tofino: takes their options, and behaves as the scripts around them expect.
//!
//! [`switch`] translates the options of a switch to those of `hopwright run`; [`compiler`] is p4c, and [`tofino`] has what is Intel's. What cannot be honoured is refused
//! or reported in a line, never ignored.

mod compiler;
mod compiler_options;
mod console;
mod json;
mod messages;
mod packet_log;
mod switch;
mod switch_options;
#[cfg(feature = "bfruntime")]
mod tofino;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

pub(crate) use crate::cli::bmv2::Name;
use crate::failure::Failure;

impl Name {
    fn of(name: &OsStr) -> Option<Name> {
        Name::from_str(name.to_str()?, false).ok()
    }

    /// Whether it is a driver of p4c: it has a folder for its outputs.
    fn is_driver(self) -> bool {
        match self {
            Name::P4c => true,
            #[cfg(feature = "bfruntime")]
            Name::BfP4c => true,
            _ => false,
        }
    }

    /// What a compiler compiles for, if it is not told.
    fn target(self) -> &'static str {
        match self {
            #[cfg(feature = "bfruntime")]
            Name::BfP4c => "tofino",
            _ => "bmv2",
        }
    }

    /// The name as users write it.
    fn text(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
    }
}

/// The name of a command line, if it has one of these, and the arguments of that command: `…/simple_switch ARGUMENTS`, a link to
/// `hopwright`, or `hopwright as simple_switch ARGUMENTS`.
pub(crate) fn called_as(line: impl IntoIterator<Item = OsString>) -> Option<(Name, Vec<OsString>)> {
    let mut words = line.into_iter();
    let program = words.next()?;
    if let Some(name) = Path::new(&program).file_name().and_then(Name::of) {
        return Some((name, words.collect()));
    }
    let name = words.next().filter(|word| word == "as").and_then(|_| words.next()).as_deref().and_then(Name::of)?;
    Some((name, words.collect()))
}

/// Runs what has this name.
pub(crate) fn run(name: Name, arguments: Vec<OsString>) -> ExitCode {
    let result = match name {
        Name::SimpleSwitch | Name::SimpleSwitchGrpc | Name::PsaSwitch => {
            switch::run(name, arguments).map(|()| ExitCode::SUCCESS)
        }
        Name::P4c | Name::P4cBm2Ss | Name::P4cBm2Psa => compiled(name, arguments),
        #[cfg(feature = "bfruntime")]
        Name::BfP4c => compiled(name, arguments),
        #[cfg(feature = "bfruntime")]
        Name::BfSwitchd => tofino::switchd::run(arguments).map(|()| ExitCode::SUCCESS),
        #[cfg(feature = "bfruntime")]
        Name::TofinoModel => {
            println!("tofino-model: nothing to do: bf_switchd is the device; its option --ports takes the file of -f");
            Ok(ExitCode::SUCCESS)
        }
        #[cfg(feature = "bfruntime")]
        Name::BfKdrvModLoad => {
            println!("bf_kdrv_mod_load: nothing to do: ports are interfaces of the kernel");
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|failure| {
        if let Failure::Error(error) = failure {
            eprintln!("{}: {}", name.text(), Failure::text(&error));
        }
        ExitCode::FAILURE
    })
}

fn compiled(name: Name, arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    compiler::run(name, arguments).map(|end| match end {
        compiler::End::Done => ExitCode::SUCCESS,
        compiler::End::Status(status) => ExitCode::from(status),
    })
}

/// A header's name without that of the parameter that it belongs to: `ipv4` of `hdr.ipv4`.
fn short(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Option<(Name, Vec<OsString>)> {
        called_as(line.split(' ').map(OsString::from))
    }

    #[test]
    fn names_are_known_by_links_and_by_as() {
        let arguments = vec![OsString::from("--"), OsString::from("--cpu-port"), OsString::from("255")];
        let expected = Some((Name::SimpleSwitchGrpc, arguments));
        assert_eq!(called("simple_switch_grpc -- --cpu-port 255"), expected);
        assert_eq!(called("/usr/lib/hopwright/bmv2/simple_switch_grpc -- --cpu-port 255"), expected);
        assert_eq!(called("./hopwright as simple_switch_grpc -- --cpu-port 255"), expected);
        #[cfg(feature = "bfruntime")]
        assert_eq!(called("/sde/bin/bf_switchd"), Some((Name::BfSwitchd, Vec::new())));
        assert_eq!(called("hopwright as psa_switch"), Some((Name::PsaSwitch, Vec::new())));
        for other in
            ["hopwright", "hopwright as", "hopwright as simple", "hopwright run", "hopwright run as simple_switch"]
        {
            assert_eq!(called(other), None, "{other}");
        }
    }
}
