//! The service `SimpleSwitch`: clone sessions, egress queues and clocks.

use hopwright_dataplane::wall_clock_us;

use super::args::Args;
use super::{Answer, Service, unknown_method};
use crate::failure::Application;
use crate::wire::Value;

/// What BMv2 answers if there is no session.
const NO_SESSION: i32 = -1;

impl Service {
    pub(super) fn simple_switch(&mut self, method: &str, args: Args<'_>) -> Answer {
        let runtime = &self.runtime;
        Ok(match method {
            "mirroring_session_add" => {
                let config = args.fields(2)?;
                runtime.set_mirroring(args.i32(1)?, config.optional_i32(1)?, config.optional_i32(2)?)?;
                None
            }
            "mirroring_session_delete" => {
                runtime.delete_mirroring(args.i32(1)?)?;
                None
            }
            "mirroring_session_get" => {
                let (port, group) = runtime.mirroring(args.i32(1)?)?;
                let fields = [(1, port), (2, group.map(u32::from))].into_iter();
                Some(Value::Struct(fields.filter_map(|(id, number)| Some((id, Value::I32(number? as i32)))).collect()))
            }
            // The methods of old clients, which report with a number.
            "mirroring_mapping_add" => Some(Value::I32(
                runtime.set_mirroring(args.i32(1)?, Some(args.i32(2)?), None).map_or(NO_SESSION, |()| 0),
            )),
            "mirroring_mapping_delete" => {
                Some(Value::I32(runtime.delete_mirroring(args.i32(1)?).map_or(NO_SESSION, |()| 0)))
            }
            "mirroring_mapping_get_egress_port" => {
                let port = runtime.mirroring(args.i32(1)?).ok().and_then(|(port, _)| port);
                Some(Value::I32(port.map_or(NO_SESSION, |port| port as i32)))
            }
            "get_time_elapsed_us" => {
                Some(Value::I64(i64::try_from(self.host.started.elapsed().as_micros()).unwrap_or(i64::MAX)))
            }
            "get_time_since_epoch_us" => Some(Value::I64(wall_clock_us() as i64)),
            "set_egress_priority_queue_depth"
            | "set_egress_queue_depth"
            | "set_all_egress_queue_depths"
            | "set_egress_priority_queue_rate"
            | "set_egress_queue_rate"
            | "set_all_egress_queue_rates" => {
                let reason = "rates and depths of queues are set when the switch starts: see `hopwright run --queue`";
                return Err(Application::InternalError.because(reason));
            }
            _ => return Err(unknown_method(method)),
        })
    }
}
