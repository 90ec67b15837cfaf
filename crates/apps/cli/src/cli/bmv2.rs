//! Options of `hopwright as`. Those of the names are in `commands::bmv2`.

use std::ffi::OsString;

use clap::Args;

use crate::commands::bmv2::Name;

#[derive(Args, Debug)]
pub(crate) struct AsArgs {
    /// What to be called
    #[arg(value_enum, value_name = "NAME")]
    pub name: Name,
    /// Options and files, as that command takes them; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub arguments: Vec<OsString>,
}
