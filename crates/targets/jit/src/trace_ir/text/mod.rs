//! The text form of trees, which `docs/trace-ir.md` describes. What [`print()`] prints, [`parse()`] reads.

mod parse;
mod print;

pub use parse::{ParseError, parse};
pub use print::print;

use hopwright_ir::BinaryOp;

/// The names of binary operations.
const BINARY: [(&str, BinaryOp); 21] = [
    ("add", BinaryOp::Add),
    ("sub", BinaryOp::Sub),
    ("mul", BinaryOp::Mul),
    ("div", BinaryOp::Div),
    ("mod", BinaryOp::Mod),
    ("sat_add", BinaryOp::SatAdd),
    ("sat_sub", BinaryOp::SatSub),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("xor", BinaryOp::Xor),
    ("shl", BinaryOp::Shl),
    ("shr", BinaryOp::Shr),
    ("eq", BinaryOp::Eq),
    ("ne", BinaryOp::Ne),
    ("lt", BinaryOp::Lt),
    ("le", BinaryOp::Le),
    ("gt", BinaryOp::Gt),
    ("ge", BinaryOp::Ge),
    ("land", BinaryOp::LogicalAnd),
    ("lor", BinaryOp::LogicalOr),
    ("concat", BinaryOp::Concat),
];
