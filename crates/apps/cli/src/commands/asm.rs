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

/// The code below the lines that it was generated for.
fn annotated(pipeline: &Pipeline, code: &[u8], lines: &[(Range<u32>, Span)]) -> Result<String, Failure> {
    let mut out = String::new();
    for (span, text) in blocks(code, lines)? {
        let _ = writeln!(out, "; {}", span.and_then(|s| pipeline.sources.quote(s)).unwrap_or_else(|| "-".into()));
        out.push_str(&text);
    }
    let _ = writeln!(out, "; {} bytes", code.len());
    Ok(out)
}

/// The code in pieces, each with the P4 text that it was generated for.
pub(crate) fn blocks(code: &[u8], lines: &[(Range<u32>, Span)]) -> Result<Vec<(Option<Span>, String)>, Failure> {
    let mut blocks: Vec<(Option<Span>, String)> = Vec::new();
    let mut lines = lines.iter().peekable();
    disassemble(code, |at, instruction| {
        while lines.peek().is_some_and(|(range, _)| range.end <= at) {
            lines.next();
        }
        let span = lines.peek().filter(|(range, _)| range.contains(&at)).map(|(_, span)| *span);
        if blocks.last().is_none_or(|(last, _)| *last != span) {
            blocks.push((span, String::new()));
        }
        if let Some((_, text)) = blocks.last_mut() {
            let _ = writeln!(text, "{at:6x}:  {instruction}");
        }
    })?;
    Ok(blocks)
}

/// Hands out each instruction as text, with its offset in the code.
#[cfg(target_arch = "x86_64")]
fn disassemble(code: &[u8], mut use_it: impl FnMut(u32, &str)) -> Result<(), Failure> {
    use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter, Instruction};
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_gas_show_mnemonic_size_suffix(false);
    let mut instruction = Instruction::default();
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut text = String::new();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        text.clear();
        formatter.format(&instruction, &mut text);
        use_it(instruction.ip() as u32, &text);
    }
    Ok(())
}

/// Hands out each instruction as text, with its offset in the code. Words that are none are constants and jump tables.
#[cfg(target_arch = "aarch64")]
fn disassemble(code: &[u8], mut use_it: impl FnMut(u32, &str)) -> Result<(), Failure> {
    use yaxpeax_arch::{Arch, Decoder, U8Reader};
    use yaxpeax_arm::armv8::a64::ARMv8;
    let decoder = <ARMv8 as Arch>::Decoder::default();
    for (word, at) in code.chunks(4).zip((0..).step_by(4)) {
        let text = match decoder.decode(&mut U8Reader::new(word)) {
            Ok(instruction) => instruction.to_string(),
            Err(_) => format!(".word {:#x}", word.iter().rev().fold(0u32, |all, byte| all << 8 | u32::from(*byte))),
        };
        use_it(at, &text);
    }
    Ok(())
}

/// Code of other machines is not shown.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn disassemble(_: &[u8], _: impl FnMut(u32, &str)) -> Result<(), Failure> {
    Err(Failure::message("code of this machine cannot be shown yet: --clif shows the code generator's own form"))
}
