//! Why a command failed, and its exit status.

use std::fmt;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reason has been printed.
    Reported,
    /// An error to print.
    Error(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Error(error.into())
    }
}

impl Failure {
    /// The text to print: the error and its causes, without causes that the error's own text repeats.
    pub(crate) fn text(error: &anyhow::Error) -> String {
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string) {
            if text.is_empty() {
                text = cause;
            } else if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        text
    }

    /// The reason as text, for what goes on after a failure.
    #[cfg(any(feature = "testgen", feature = "p4runtime", all(feature = "page", feature = "jit")))]
    pub(crate) fn reason(&self) -> String {
        match self {
            Failure::Error(error) => Failure::text(error),
            Failure::Reported => "the reason has been printed".into(),
        }
    }

    /// A failure with a message.
    pub(crate) fn message(text: impl fmt::Display) -> Failure {
        Failure::Error(anyhow::anyhow!("{text}"))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[derive(Debug)]
    struct Bind(std::io::Error);

    impl fmt::Display for Bind {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "cannot bind 192.0.2.1:1: {}", self.0)
        }
    }

    impl std::error::Error for Bind {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn causes_are_told_once() {
        let bind = || Bind(std::io::Error::from_raw_os_error(99));
        let once = "cannot bind 192.0.2.1:1: Cannot assign requested address (os error 99)";
        assert_eq!(Failure::text(&anyhow::Error::from(bind())), once);
        let error = Err::<(), _>(bind()).context("no server").unwrap_err();
        assert_eq!(Failure::text(&error), format!("no server: {once}"));
    }
}
