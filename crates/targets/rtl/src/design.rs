//! All stages in one call.

use hopwright_ir::Pipeline;

use crate::convert::convert;
use crate::core::Core;
use crate::refusal::Refusal;
use crate::schedule::Schedule;
use crate::shell::{Order, ShellModule};
use crate::simulation;
use crate::sv::{self, Verilog};
use crate::target::Target;

/// A program for a target.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// The target.
    pub target: Target,
    /// The operations.
    pub core: Core,
    /// Their stages.
    pub schedule: Schedule,
    /// The design, its register map and the engines it needs.
    pub verilog: Verilog,
    /// What surrounds it on the target.
    pub shell: ShellModule,
}

impl Hardware {
    /// The files of the design, by names: the top module `NAME.sv`, the pipeline, the register map as JSON, the target's shell
    /// with what surrounds it, and the engines.
    pub fn files(&self, name: &str) -> Vec<(String, String)> {
        let Verilog { top, pipeline, map, engines, .. } = &self.verilog;
        let mut files = vec![
            (format!("{name}.sv"), top.clone()),
            (format!("{name}_pipeline.sv"), pipeline.clone()),
            (format!("{name}.json"), map.json()),
            (format!("{}.sv", self.shell.name), self.shell.text.clone()),
        ];
        files.extend(self.shell.around.iter().map(|(file, text)| ((*file).to_string(), text.clone())));
        let engines = engines.iter().chain(self.shell.engines).copied().collect();
        let engines = crate::engines::with_parts(&engines).into_iter();
        files.extend(engines.map(|(engine, text)| (format!("{engine}.sv"), text.to_string())));
        files
    }

    /// The files of a testbench of the design, by names: they are in the folder `simulation`, beside the [files](Self::files) of this name.
    pub fn testbench(&self, name: &str) -> Vec<(String, String)> {
        simulation::testbench(name, &self.verilog.name, &self.target).into()
    }
}

/// Compiles a pipeline to SystemVerilog.
///
/// # Errors
/// Everything in the program that the hardware or the target cannot do.
pub fn compile(pipeline: &Pipeline, target: &Target) -> Result<Hardware, Vec<Refusal>> {
    let design = convert(pipeline)?;
    let core = Core::of(pipeline, &design, target)?;
    let schedule = Schedule::of(pipeline, &core.design, &core.outputs(), target);
    let verilog = sv::emit(pipeline, &core, &schedule, target)?;
    // Sums of bytes are made in front of the store, which drops packets.
    let is_kept = core.again.is_none() && !verilog.engines.contains("hw_byte_sums");
    let order = Order { is_kept, packets: schedule.packets(), copies: schedule.verdicts() };
    let shell = target.shell.module(&verilog.name, target.bus_bytes, order);
    Ok(Hardware { target: target.clone(), core, schedule, verilog, shell })
}
