//! Options by which processes take over from each other.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HandOverArgs {
    /// Listen at this path for another process with these options that is to take over. Only the owner and root can use it
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Take over from the process that listens at --control, without losing packets. That one goes on if this one cannot start
    #[arg(long, requires = "control")]
    pub take_over: bool,
    /// With --take-over, return when the new process has taken over, and leave it running
    #[arg(long, requires = "take_over")]
    pub background: bool,
}
