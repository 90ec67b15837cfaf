//! The services `SimplePre` and `SimplePreLAG`: multicast groups.

use super::args::Args;
use super::{Answer, Service, check_context, unknown_method};
use crate::wire::Value;

impl Service {
    /// `lags`: nodes have link aggregation groups, too.
    pub(super) fn replication(&mut self, method: &str, args: Args<'_>, lags: bool) -> Answer {
        check_context(args)?;
        let runtime = &mut self.runtime;
        match method {
            "bm_mc_mgrp_create" => return runtime.create_multicast_group(args.i32(2)?).map(|id| Some(Value::I32(id))),
            "bm_mc_mgrp_destroy" => runtime.destroy_multicast_group(args.i32(2)?)?,
            "bm_mc_node_create" => {
                let lags = if lags { args.text(4)? } else { "" };
                return runtime.create_node(args.i32(2)?, args.text(3)?, lags).map(|node| Some(Value::I32(node)));
            }
            "bm_mc_node_associate" => runtime.associate_node(args.i32(2)?, args.i32(3)?)?,
            "bm_mc_node_dissociate" => runtime.dissociate_node(args.i32(2)?, args.i32(3)?)?,
            "bm_mc_node_destroy" => runtime.destroy_node(args.i32(2)?)?,
            "bm_mc_node_update" => {
                let lags = if lags { args.text(4)? } else { "" };
                runtime.update_node(args.i32(2)?, args.text(3)?, lags)?;
            }
            "bm_mc_set_lag_membership" if lags => runtime.set_lag(args.i16(2)?.into(), args.text(3)?)?,
            "bm_mc_get_entries" => return Ok(Some(Value::text(runtime.multicast_entries()))),
            _ => return Err(unknown_method(method)),
        }
        Ok(None)
    }
}
