//! A minimal eBPF assembler with named instructions and labels. Encoding: RFC 9669.

/// One instruction, laid out as the kernel's `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    /// Destination in the lower four bits, source in the upper four.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register(u8);

/// The result of calls and of the program.
pub(super) const R0: Register = Register(0);
/// Arguments of calls, which overwrite them; at the start, `R1` is the program's argument.
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
pub(super) const R3: Register = Register(3);
pub(super) const R4: Register = Register(4);
/// Preserved across calls.
pub(super) const R6: Register = Register(6);
pub(super) const R7: Register = Register(7);
pub(super) const R8: Register = Register(8);
pub(super) const R9: Register = Register(9);
/// End of the stack. Read-only.
pub(super) const STACK: Register = Register(10);

/// The width of a load or store, as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    One = 0x10,
    Two = 0x08,
    Four = 0x00,
}

/// The condition of a jump; comparisons are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Equal = 0x10,
    Greater = 0x20,
    NotLess = 0x30,
    NotEqual = 0x50,
}

/// A jump target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program being built.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    pub(super) fn new() -> Assembler {
        Assembler::default()
    }

    fn emit(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        self.code.push(Instruction { code, registers: to.0 | from.0 << 4, offset, immediate });
    }

    /// `to = *(from + offset)`, zero-extended.
    pub(super) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.emit(0x61 | width as u8, to, from, offset, 0);
    }

    /// `*(to + offset) = from`
    pub(super) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.emit(0x63 | width as u8, to, from, offset, 0);
    }

    /// `*(to + offset) = value`
    pub(super) fn store_value(&mut self, width: Width, to: Register, offset: i16, value: i32) {
        self.emit(0x62 | width as u8, to, R0, offset, value);
    }

    /// `to = from`
    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.emit(0xbf, to, from, 0, 0);
    }

    /// `to = value`
    pub(super) fn set(&mut self, to: Register, value: i32) {
        self.emit(0xb7, to, R0, 0, value);
    }

    /// `to += value`
    pub(super) fn add(&mut self, to: Register, value: i32) {
        self.emit(0x07, to, R0, 0, value);
    }

    /// `to += from`
    pub(super) fn add_register(&mut self, to: Register, from: Register) {
        self.emit(0x0f, to, from, 0, 0);
    }

    /// `to &= value`
    pub(super) fn and(&mut self, to: Register, value: i32) {
        self.emit(0x57, to, R0, 0, value);
    }

    /// `to` = a map, as an argument of calls.
    pub(super) fn map(&mut self, to: Register, map: i32) {
        self.emit(0x18, to, Register(1), 0, map);
        self.emit(0, R0, R0, 0, 0);
    }

    /// Calls a kernel helper function.
    pub(super) fn call(&mut self, helper: i32) {
        self.emit(0x85, R0, R0, 0, helper);
    }

    /// Ends the program; the result is in `R0`.
    pub(super) fn exit(&mut self) {
        self.emit(0x95, R0, R0, 0, 0);
    }

    /// Creates a label.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Defines a label at the current position.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps unconditionally.
    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x05, R0, R0, 0, 0);
    }

    /// Jumps if the condition holds for a register and a value.
    pub(super) fn jump_if(&mut self, left: Register, when: When, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x05 | when as u8, left, R0, 0, value);
    }

    /// Jumps if the condition holds for two registers.
    pub(super) fn jump_if_register(&mut self, left: Register, when: When, right: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(0x0d | when as u8, left, right, 0, 0);
    }

    /// Returns the program. A jump to a label that was never placed goes to the end, which the kernel's verifier
    /// refuses.
    pub(super) fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].unwrap_or(self.code.len());
            self.code[at].offset = (target as i64 - at as i64 - 1) as i16;
        }
        self.code
    }
}
