//! The trace IR beside the interpreter: what a tree says of packets, and that its text form says the same.

use std::sync::Arc;

use hopwright_abi::ExternAttributes;
use hopwright_interp::Interp;
use hopwright_ir::Pipeline;
use hopwright_jit::Path;
use hopwright_jit::trace_ir::build::build;
use hopwright_jit::trace_ir::eval::{self, EvalError, Input, Outcome};
use hopwright_jit::trace_ir::passes::Pass;
use hopwright_jit::trace_ir::recording::Recording;
use hopwright_jit::trace_ir::text::{parse, print};
use hopwright_jit::trace_ir::verify::verify;

use super::hex;

/// Checks the tree of some paths: it is valid and its text says the same; packets on one of the paths complete a trace; packets that
/// complete one do what the interpreter does, after each pass, too. `packets` are all packets with their paths, in order.
pub(crate) fn check(
    pipeline: &Pipeline,
    paths: &[Path],
    packets: &[(&[u8], &Path)],
    at: (u32, u64),
) -> Result<(), String> {
    let attributes = vec![ExternAttributes::default(); pipeline.externs.len()];
    let ir = build(pipeline, paths, &attributes);
    let text = print(&ir, None);
    verify(&ir).map_err(|e| format!("an invalid trace: {e:?}\n{text}"))?;
    let again = parse(&text).map_err(|e| format!("the text form is not read: {e}\n{text}"))?;
    verify(&again).map_err(|e| format!("an invalid trace is read: {e:?}\n{text}"))?;
    if print(&again, None) != text {
        return Err(format!("the text form is read differently:\n{text}\n{}", print(&again, None)));
    }
    let passed = Pass::ALL.map(|pass| {
        let mut ir = ir.clone();
        pass.run(&mut ir);
        (pass, ir)
    });
    for (pass, ir) in &passed {
        verify(ir)
            .map_err(|e| format!("an invalid trace after {}: {e:?}\n{text}\n{}", pass.name(), print(ir, None)))?;
    }
    let mut interp = Interp::new(Arc::new(pipeline.clone())).map_err(|e| format!("{e:?}"))?;
    for (packet, path) in packets {
        let mut recording = Recording::new(pipeline);
        let expected = interp.process_observed(packet, at.0 as u16, at.1, &mut recording);
        let input = Input { packet, port: at.0 as u16, now_us: at.1 };
        let completes = |outcome: &Result<Outcome, EvalError>| matches!(outcome, Ok(Outcome::Completed { .. }));
        let completed = completes(&eval::run(&ir, input, &mut recording));
        for (pass, ir) in &passed {
            if let Ok(Outcome::Completed { done, .. }) = eval::run(ir, input, &mut recording)
                && done != recording.done(&expected)
            {
                return Err(format!("after {}: {done:x?} for packet {}\n{text}", pass.name(), hex(packet)));
            }
            let completed_then = completes(&eval::run(ir, input, &mut recording));
            if completed != completed_then && (*pass != Pass::GuardHoisting || completed_then) {
                return Err(format!("after {}, packet {} goes elsewhere\n{text}", pass.name(), hex(packet)));
            }
        }
        for ir in [&ir, &again] {
            let complain = |what: String| Err(format!("{what} for packet {}\n{text}", hex(packet)));
            match recording.compare(ir, input, &expected) {
                Ok(Outcome::Left(exit)) if paths.contains(path) => return complain(format!("left at {exit:?}")),
                Ok(_) => {}
                Err(error) => return complain(error.to_string()),
            }
        }
    }
    Ok(())
}
