//! Options of `hopwright as`. Those of the names are in `commands::bmv2`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// A name that `hopwright` may be called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// BMv2's switch for v1model, controlled by Thrift
    #[value(name = "simple_switch")]
    SimpleSwitch,
    /// BMv2's switch for v1model, controlled by P4Runtime
    #[value(name = "simple_switch_grpc")]
    SimpleSwitchGrpc,
    /// BMv2's switch for PSA
    #[value(name = "psa_switch")]
    PsaSwitch,
    /// p4c's driver
    #[value(name = "p4c")]
    P4c,
    /// p4c's compiler for simple_switch
    #[value(name = "p4c-bm2-ss")]
    P4cBm2Ss,
    /// p4c's compiler for psa_switch
    #[value(name = "p4c-bm2-psa")]
    P4cBm2Psa,
    /// Intel's driver of p4c for Tofino
    #[cfg(feature = "bfruntime")]
    #[value(name = "bf-p4c")]
    BfP4c,
    /// Intel's daemon for a Tofino, controlled by BfRuntime
    #[cfg(feature = "bfruntime")]
    #[value(name = "bf_switchd")]
    BfSwitchd,
    /// Intel's model of a Tofino: bf_switchd has its ports
    #[cfg(feature = "bfruntime")]
    #[value(name = "tofino-model")]
    TofinoModel,
    /// Loads Intel's kernel module: there is none
    #[cfg(feature = "bfruntime")]
    #[value(name = "bf_kdrv_mod_load")]
    BfKdrvModLoad,
}

#[derive(Args, Debug)]
pub(crate) struct AsArgs {
    /// What to be called
    #[arg(value_enum, value_name = "NAME")]
    pub name: Name,
    /// Options and files, as that command takes them; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    pub arguments: Vec<OsString>,
}
