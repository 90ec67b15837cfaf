//! Why there is no P4Info.

/// Why there is no P4Info for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum P4InfoError {
    #[error("`{name}`: @id({id:#x}) is used twice, or zero")]
    DuplicateId { name: String, id: u32 },
    #[error("`{name}`: @id takes a number of 32 bits")]
    BadId { name: String },
    #[error("`{name}`: @{annotation} takes {takes}")]
    BadAnnotation { name: String, annotation: &'static str, takes: &'static str },
    #[error("two {kind}s are called `{name}`: give one of them another `@name`")]
    DuplicateName { kind: &'static str, name: String },
    #[error("P4Info cannot be written: {0}")]
    Form(String),
}

pub(super) type Result<T> = std::result::Result<T, P4InfoError>;
