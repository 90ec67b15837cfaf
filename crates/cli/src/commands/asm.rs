//! `hopwright asm`: the machine code of a program below the lines that it was generated for.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

use hopwright_dataplane::BuildError;
use hopwright_ir::{Pipeline, Span};

use crate::cli::jit::AsmArgs;
use crate::commands::trace_ir;
use crate::compile;
use crate::failure::Failure;

/// Prints the code.
pub(crate) fn run(args: &AsmArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    if let Some(packets) = &args.packets {
        let received = trace_ir::read(packets, args.learning.port)?;
        let learned = trace_ir::learn(&pipeline, &received, &args.learning)?;
        let Some(code) = &learned.code else {
            return Err(Failure::message("no traces: too few packets would complete one"));
        };
        let text = annotated(&pipeline, code.code(), code.lines())?;
        print!("{text}");
        return Ok(());
    }
    let options = hopwright_jit::Options { keep_text: args.clif };
    let compiled = hopwright_jit::compile(&pipeline, &options)
        .map_err(|e| compile::refused(&pipeline, &BuildError::Unsupported { span: e.span, message: e.message }))?;
    let text = match compiled.clif() {
        Some(clif) => clif.to_string(),
        None => annotated(&pipeline, compiled.code(), compiled.lines())?,
    };
    print!("{text}");
    Ok(())
}

/// Compiles a program, and says how long that took and how much code it is.
pub(crate) fn machine_code(pipeline: &Pipeline) -> Result<String, Failure> {
    let started = Instant::now();
    let code = hopwright_jit::compile(pipeline, &hopwright_jit::Options::default());
    let back = started.elapsed();
    match code {
        Ok(code) => Ok(format!("machine code {back:.1?}, {} bytes", code.code().len())),
        Err(e) => Err(compile::refused(pipeline, &BuildError::Unsupported { span: e.span, message: e.message })),
    }
}

#[cfg(target_arch = "x86_64")]
fn annotated(pipeline: &Pipeline, code: &[u8], lines: &[(Range<u32>, Span)]) -> Result<String, Failure> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction};
    let mut out = String::new();
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_gas_show_mnemonic_size_suffix(false);
    let mut lines = lines.iter().peekable();
    let mut shown: Option<Span> = None;
    let mut instruction = Instruction::default();
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let at = instruction.ip() as u32;
        while lines.peek().is_some_and(|(range, _)| range.end <= at) {
            lines.next();
        }
        let span = lines.peek().filter(|(range, _)| range.contains(&at)).map(|(_, span)| *span);
        if span != shown || at == 0 {
            shown = span;
            let _ = writeln!(out, "; {}", span.and_then(|s| pipeline.sources.quote(s)).unwrap_or_else(|| "-".into()));
        }
        let _ = write!(out, "{at:6x}:  ");
        formatter.format(&instruction, &mut out);
        out.push('\n');
    }
    let _ = writeln!(out, "; {} bytes", code.len());
    Ok(out)
}

#[cfg(not(target_arch = "x86_64"))]
fn annotated(_: &Pipeline, _: &[u8], _: &[(Range<u32>, Span)]) -> Result<String, Failure> {
    Err(Failure::message("code of this machine cannot be shown yet: --clif shows the code generator's own form"))
}
