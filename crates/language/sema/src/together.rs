//! Several programs for the pipes of one device as one program: each has names of its own, and its objects have its name in front of
//! theirs.

use std::collections::BTreeMap;

use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::Part;
use crate::analyser::Analyser;
use crate::entity::Scope;
use crate::hir::{self, Annotation, Type};

/// Pipes of a device.
const MAX_PIPES: usize = 4;

/// What there is of each kind of type before a program is analysed.
struct Types {
    structs: usize,
    enums: usize,
    new_types: usize,
}

impl<'a> Analyser<'a> {
    /// Checks all programs, and makes their packages one.
    pub(crate) fn programs(&mut self, parts: &[Part<'a>]) {
        let mut mains: Vec<hir::Package> = Vec::new();
        let mut packets: Vec<ControllerHeaders> = Vec::new();
        for part in parts {
            self.begin(part.program);
            let (objects, out) = (self.made_so_far(), &self.out);
            let types = Types { structs: out.structs.len(), enums: out.enums.len(), new_types: out.new_types.len() };
            self.program();
            let made = self.made_since(&objects);
            self.name_below(part.name, &made);
            self.name_types_below(part.name, &types);
            mains.push(self.out.main.clone());
            packets.push(controller_headers(&self.out, types.structs));
        }
        if self.errors > 0 {
            return;
        }
        let same = same_packets(&packets, parts);
        match same.and_then(|()| together(&mains, parts)) {
            Ok(main) => self.out.main = main,
            Err(reason) => {
                self.report(Diagnostic::error("E0462", format!("the programs cannot be on one device: {reason}")))
            }
        }
    }

    /// Forgets the names of the program before.
    fn begin(&mut self, program: &'a ast::Program) {
        self.program = program;
        self.globals = Scope::default();
        self.later.clear();
        self.match_kinds.clear();
        self.errors_declared.clear();
        self.deprecated_names.clear();
        self.specialised.clear();
        self.has_main = false;
    }

    /// Gives types since then names below that of the program. Those that `type` declares keep theirs, unless another program has another
    /// type of the name.
    fn name_types_below(&mut self, program: &str, since: &Types) {
        let below = |name: &mut String| *name = format!("{program}.{name}");
        self.out.structs[since.structs..].iter_mut().for_each(|s| below(&mut s.control_plane_name));
        self.out.enums[since.enums..].iter_mut().for_each(|e| below(&mut e.control_plane_name));
        let (before, own) = self.out.new_types.split_at_mut(since.new_types);
        for new in own {
            if before.iter().any(|old| old.control_plane_name == new.control_plane_name && old.ty != new.ty) {
                below(&mut new.control_plane_name);
            }
        }
    }
}

/// The widths of the fields of controller headers, by what the annotation says: `packet_in`, `packet_out`.
type ControllerHeaders = BTreeMap<String, Vec<u32>>;

/// The controller headers among the types from this number on. The first one of a name counts.
fn controller_headers(program: &hir::TypedProgram, since: usize) -> ControllerHeaders {
    let mut found = ControllerHeaders::new();
    for header in &program.structs[since..] {
        if let Some(name) = Annotation::text_of(&header.annotations, "controller_header") {
            let mut widths = Vec::new();
            header.fields.iter().for_each(|field| field_widths(program, &field.ty, &mut widths));
            found.entry(name.to_string()).or_insert(widths);
        }
    }
    found
}

/// Adds the widths of the scalars of a header's field.
fn field_widths(program: &hir::TypedProgram, ty: &Type, widths: &mut Vec<u32>) {
    match ty {
        Type::Bool => widths.push(1),
        Type::Bits(width) | Type::Int(width) | Type::Varbit(width) => widths.push(*width),
        Type::Enum(id) => {
            if let Some(underlying) = &program[*id].underlying {
                field_widths(program, underlying, widths);
            }
        }
        Type::Struct(id) | Type::Header(id) => {
            program[*id].fields.iter().for_each(|field| field_widths(program, &field.ty, widths));
        }
        Type::Stack(element, count) => (0..*count).for_each(|_| field_widths(program, element, widths)),
        // A header has no others.
        _ => {}
    }
}

/// Checks that packets of controllers are the same for all programs, as a device has one channel to its controllers.
fn same_packets(packets: &[ControllerHeaders], parts: &[Part<'_>]) -> Result<(), String> {
    let Some(first) = packets.first() else { return Ok(()) };
    for (other, part) in packets.iter().zip(parts) {
        let mut names = first.keys().chain(other.keys());
        if let Some(name) = names.find(|name| first.get(*name) != other.get(*name)) {
            let (a, b) = (parts[0].name, part.name);
            return Err(format!("the controller headers `{name}` of `{a}` and `{b}` differ, or one has none"));
        }
    }
    Ok(())
}

/// A pipeline of a program in a pipe.
#[derive(Clone, Copy)]
struct InPipe {
    program: usize,
    /// The number of the pipeline in the program's package.
    pipeline: usize,
}

/// One package that has the pipelines of all programs in their pipes.
fn together(mains: &[hir::Package], parts: &[Part<'_>]) -> Result<hir::Package, String> {
    let first = mains.first().ok_or("there is none")?;
    let mut pipes: BTreeMap<usize, InPipe> = BTreeMap::new();
    for (program, (main, part)) in mains.iter().zip(parts).enumerate() {
        let name = part.name;
        if main.pipelines.is_empty() {
            return Err(format!("`{name}` has no pipelines, as programs for Tofino have"));
        }
        if main.type_name != first.type_name || main.architecture != first.architecture {
            return Err(format!("`{name}` is for another architecture than `{}`", parts[0].name));
        }
        if name.is_empty() || name.contains('.') {
            return Err(format!("`{name}` cannot be in front of names: it is empty, or has a dot"));
        }
        if parts[..program].iter().any(|other| other.name == name) {
            return Err(format!("two are called `{name}`"));
        }
        if let Some(absent) = main.pipelines.iter().find(|p| part.pipes.iter().all(|(known, _)| known != *p)) {
            return Err(format!("no pipe is given for the pipeline `{absent}` of `{name}`"));
        }
        for (pipeline, numbers) in part.pipes {
            let at = main.pipelines.iter().position(|known| known == pipeline);
            let at = at.ok_or_else(|| format!("`{name}` has no pipeline `{pipeline}`"))?;
            if numbers.is_empty() {
                return Err(format!("no pipe is given for the pipeline `{pipeline}` of `{name}`"));
            }
            for number in numbers {
                if *number >= MAX_PIPES {
                    return Err(format!("there is no pipe {number}: a device has {MAX_PIPES} at most"));
                }
                if pipes.insert(*number, InPipe { program, pipeline: at }).is_some() {
                    return Err(format!("two pipelines are in pipe {number}"));
                }
            }
        }
    }
    let mut main = hir::Package {
        blocks: Vec::new(),
        pipelines: Vec::new(),
        pipes: pipes.keys().copied().collect(),
        ghosts: Vec::new(),
        values: mains.iter().flat_map(|main| main.values.clone()).collect(),
        objects: mains.iter().flat_map(|main| main.objects.clone()).collect(),
        annotations: Vec::new(),
        ..first.clone()
    };
    for (pipe, InPipe { program, pipeline }) in pipes {
        let from = &mains[program];
        let count = from.blocks.len() / from.pipelines.len();
        let blocks = from.blocks.iter().skip(pipeline * count).take(count);
        main.blocks.extend(blocks.map(|(name, id)| (format!("{}.{pipe}.{name}", parts[program].name), *id)));
        main.pipelines.push(format!("{}.{}", parts[program].name, from.pipelines[pipeline]));
        main.ghosts.extend(from.ghosts.iter().filter(|(of, _)| *of == pipeline).map(|(_, id)| (pipe, *id)));
    }
    Ok(main)
}
