//! Tokens, which the lexer makes, the preprocessor rewrites and the parser reads.

use std::collections::HashSet;
use std::sync::Arc;

use hopwright_source::Span;

macro_rules! spelled {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum $name { $($variant),* }

        impl $name {
            const ALL: &'static [$name] = &[$($name::$variant),*];

            /// As it is written.
            pub(crate) fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
    };
}

spelled! {
    /// Reserved words.
    Kw {
        Abstract = "abstract",
        Action = "action",
        Actions = "actions",
        Apply = "apply",
        Bool = "bool",
        Bit = "bit",
        Break = "break",
        Const = "const",
        Continue = "continue",
        Control = "control",
        Default = "default",
        Else = "else",
        Entries = "entries",
        Enum = "enum",
        Error = "error",
        Exit = "exit",
        Extern = "extern",
        False = "false",
        For = "for",
        Header = "header",
        HeaderUnion = "header_union",
        If = "if",
        In = "in",
        Inout = "inout",
        Int = "int",
        Key = "key",
        List = "list",
        MatchKind = "match_kind",
        Out = "out",
        Package = "package",
        Parser = "parser",
        Priority = "priority",
        Return = "return",
        Select = "select",
        State = "state",
        String = "string",
        Struct = "struct",
        Switch = "switch",
        Table = "table",
        This = "this",
        Transition = "transition",
        True = "true",
        Tuple = "tuple",
        Type = "type",
        Typedef = "typedef",
        ValueSet = "value_set",
        Varbit = "varbit",
        Void = "void",
        Underscore = "_",
    }
}

/// Whether a word is reserved and can be no name in P4.
pub fn is_reserved(word: &str) -> bool {
    Kw::from_text(word).is_some_and(|k| !k.is_name())
}

impl Kw {
    /// The reserved word with this spelling.
    pub(crate) fn from_text(text: &str) -> Option<Kw> {
        Kw::ALL.iter().copied().find(|k| k.text() == text)
    }

    /// Whether the word may also be used as a name (grammar: `nonTypeName` and `LIST`).
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Kw::Apply | Kw::Key | Kw::Actions | Kw::State | Kw::Entries | Kw::Type | Kw::Priority | Kw::List)
    }

    /// Whether the word begins a type that is not a name.
    pub(crate) fn starts_type(self) -> bool {
        matches!(
            self,
            Kw::Bool
                | Kw::Error
                | Kw::MatchKind
                | Kw::String
                | Kw::Int
                | Kw::Bit
                | Kw::Varbit
                | Kw::Tuple
                | Kw::List
                | Kw::Void
        )
    }
}

spelled! {
    /// Punctuation, longest first.
    P {
        AddSatAssign = "|+|=",
        SubSatAssign = "|-|=",
        AmpAmpAmp = "&&&",
        Dots = "...",
        ShlAssign = "<<=",
        ShrAssign = ">>=",
        AddSat = "|+|",
        SubSat = "|-|",
        Invalid = "{#}",
        DotDot = "..",
        Shl = "<<",
        AndAnd = "&&",
        OrOr = "||",
        EqEq = "==",
        NotEq = "!=",
        GtEq = ">=",
        LtEq = "<=",
        PlusPlus = "++",
        PlusAssign = "+=",
        MinusAssign = "-=",
        MulAssign = "*=",
        DivAssign = "/=",
        ModAssign = "%=",
        AndAssign = "&=",
        OrAssign = "|=",
        XorAssign = "^=",
        PlusColon = "+:",
        HashHash = "##",
        Hash = "#",
        Plus = "+",
        Minus = "-",
        Star = "*",
        Slash = "/",
        Percent = "%",
        Or = "|",
        And = "&",
        Caret = "^",
        Tilde = "~",
        LBracket = "[",
        RBracket = "]",
        LBrace = "{",
        RBrace = "}",
        LParen = "(",
        RParen = ")",
        Lt = "<",
        Gt = ">",
        Bang = "!",
        Colon = ":",
        Comma = ",",
        Question = "?",
        Dot = ".",
        Assign = "=",
        Semi = ";",
        At = "@",
    }
}

impl P {
    /// The longest punctuation at the beginning of `text`.
    pub(crate) fn longest_prefix(text: &str) -> Option<P> {
        let first = text.as_bytes().first()?;
        P::ALL.iter().copied().find(|p| p.text().as_bytes()[0] == *first && text.starts_with(p.text()))
    }
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    /// An identifier; before the parser sees it also any reserved word.
    Ident,
    /// A reserved word (only what the parser sees).
    Kw(Kw),
    /// An integer, not yet checked.
    Int,
    /// A string with its quotes.
    Str,
    /// Punctuation.
    P(P),
    /// A character that begins no token.
    Unknown,
    /// End of the line, file or program.
    Eof,
}

/// Names of macros that must not be expanded in a token again.
pub(crate) type HideSet = Option<Arc<Vec<Arc<str>>>>;

/// A token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: Tok,
    pub text: Arc<str>,
    pub span: Span,
    /// First on its line.
    pub line_start: bool,
    /// White space or a comment stands before it.
    pub space: bool,
    pub hide: HideSet,
    /// The outermost macro whose body the token is from.
    pub from_macro: Option<Arc<str>>,
}

impl Token {
    pub(crate) fn new(kind: Tok, text: Arc<str>, span: Span) -> Token {
        Token { kind, text, span, line_start: false, space: false, hide: None, from_macro: None }
    }

    /// How a diagnostic names the token.
    pub(crate) fn describe(&self) -> String {
        match self.kind {
            Tok::Ident => format!("`{}`", self.text),
            Tok::Kw(k) => format!("the keyword `{}`", k.text()),
            Tok::Int => format!("the number `{}`", self.text),
            Tok::Str => "a string".to_string(),
            Tok::P(p) => format!("`{}`", p.text()),
            Tok::Unknown => format!("the character `{}`", self.text.escape_debug()),
            Tok::Eof => "the end of the file".to_string(),
        }
    }
}

/// Shares the text of equal tokens.
#[derive(Default)]
pub(crate) struct Interner {
    texts: HashSet<Arc<str>>,
}

impl Interner {
    pub(crate) fn intern(&mut self, text: &str) -> Arc<str> {
        match self.texts.get(text) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = Arc::from(text);
                self.texts.insert(new.clone());
                new
            }
        }
    }
}
