//! The service `SimpleSwitch`: clone sessions, egress queues and clocks.

use hopwright_dataplane::egress_queues::{DEEPEST, QUEUES};
use hopwright_dataplane::{QueueLimit, wall_clock_us};

use super::args::Args;
use super::{Answer, Service, unknown_method};
use crate::failure::{Application, Result};
use crate::wire::Value;

/// What BMv2 answers if there is no session.
const NO_SESSION: i32 = -1;

impl Service {
    pub(super) fn simple_switch(&mut self, method: &str, args: Args<'_>) -> Answer {
        let runtime = &mut self.runtime;
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
            "set_egress_priority_queue_depth" => {
                self.limit_queues(Some(args.i32(1)?), Some(args.i32(2)?), depth(args.i32(3)?)?)?
            }
            "set_egress_queue_depth" => self.limit_queues(Some(args.i32(1)?), None, depth(args.i32(2)?)?)?,
            "set_all_egress_queue_depths" => self.limit_queues(None, None, depth(args.i32(1)?)?)?,
            "set_egress_priority_queue_rate" => {
                self.limit_queues(Some(args.i32(1)?), Some(args.i32(2)?), rate(args.i64(3)?)?)?
            }
            "set_egress_queue_rate" => self.limit_queues(Some(args.i32(1)?), None, rate(args.i64(2)?)?)?,
            "set_all_egress_queue_rates" => self.limit_queues(None, None, rate(args.i64(1)?)?)?,
            _ => return Err(unknown_method(method)),
        })
    }

    fn limit_queues(&mut self, port: Option<i32>, priority: Option<i32>, limit: QueueLimit) -> Answer {
        let refused = |reason: String| Application::InternalError.because(reason);
        let Some(ports) = &mut self.host.ports else { return Err(refused("the switch has no queues".into())) };
        let port = port.map(|port| u32::try_from(port).map_err(|_| refused(format!("there is no port {port}"))));
        let queue = |priority: i32| {
            let queue = u8::try_from(priority).ok().filter(|priority| usize::from(*priority) < QUEUES);
            queue.ok_or_else(|| refused(format!("there is no priority {priority}, only 0 to {}", QUEUES - 1)))
        };
        ports.limit_queues(port.transpose()?, priority.map(queue).transpose()?, limit).map_err(refused)?;
        Ok(Some(Value::I32(0)))
    }
}

fn depth(packets: i32) -> Result<QueueLimit> {
    let depth = u32::try_from(packets).ok().filter(|packets| *packets <= DEEPEST);
    let reason = || Application::InternalError.because(format!("a queue has 0 to {DEEPEST} packets, not {packets}"));
    depth.map(QueueLimit::Depth).ok_or_else(reason)
}

fn rate(packets_per_second: i64) -> Result<QueueLimit> {
    let reason = |_| Application::InternalError.because(format!("{packets_per_second} is no rate"));
    u64::try_from(packets_per_second).map(QueueLimit::Rate).map_err(reason)
}
