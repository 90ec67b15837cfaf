//! The preprocessor: files and directives to one stream of tokens.
//!
//! Macro expansion is in `macros`, the arithmetic of `#if` in `condition`, the standard include files in `embedded`; `print` writes the
//! stream as text. The
//! language is that of the P4-16 specification, section 6.1, extended by features of C preprocessors: macros with parameters,
//! `#`, `##`, `#error`, `#line`.

mod buffers;
mod condition;
mod embedded;
mod include;
mod macros;
mod print;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Lexer, StringLine, unterminated_string};
use crate::token::{Interner, Kw, P, Tok, Token};
pub use buffers::{Buffers, canonical};
pub use embedded::{built_in_files, include_of};
use hopwright_source::{FileId, LineMark, SourceMap, Span};
use macros::Macro;
pub(crate) use print::print;

/// Maximum nesting of include files.
const MAX_INCLUDE_DEPTH: usize = 100;
/// Maximum number of included files, counting repetitions.
const MAX_FILES: usize = 2_000;
/// Maximum number of conditionals without `#endif` reported per file.
const MAX_UNTERMINATED: usize = 10;
/// Maximum number of tokens that macros produce.
const MAX_MACRO_TOKENS: usize = 1_000_000;
/// Maximum number of tokens of a program.
const MAX_TOKENS: usize = 20_000_000;

/// A macro from outside the program, in the order of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLineMacro {
    /// `-D NAME` (value 1) or `-D NAME=VALUE`; the name may have parameters.
    Define {
        /// Name, possibly with parameters.
        name: String,
        /// Body.
        value: Option<String>,
    },
    /// `-U NAME`
    Undefine(String),
}

/// Options of the preprocessor.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where include files are looked for, in this order; with `no_disk`, folders of the names in `embedded`.
    pub include_paths: Vec<PathBuf>,
    /// `-D` and `-U`.
    pub macros: Vec<CommandLineMacro>,
    /// Further include files without a place on disk, as (name, text). They are found after those on disk and before the
    /// built-in ones. As on disk, a name in quotes is looked up in the folder of the including file first.
    pub embedded: Vec<(String, Arc<str>)>,
    /// Never read a file from disk: includes find embedded and built-in files only.
    pub no_disk: bool,
    /// Texts that are read instead of files on disk.
    pub buffers: Buffers,
}

impl Options {
    /// Adds `-D definition`, where the definition is `NAME` or `NAME=VALUE`.
    pub fn define(&mut self, definition: &str) {
        let (name, value) = match definition.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (definition.to_string(), None),
        };
        self.macros.push(CommandLineMacro::Define { name, value });
    }

    /// Adds `-U name`.
    pub fn undefine(&mut self, name: &str) {
        self.macros.push(CommandLineMacro::Undefine(name.to_string()));
    }
}

/// An `#if` that is not closed yet.
struct Condition {
    opened: Span,
    /// Whether some branch was taken already (or none can be).
    taken: bool,
    active: bool,
    else_seen: Option<Span>,
}

/// A file being read.
struct Frame {
    lexer: Lexer,
    /// The first folder that `#include "x"` searches.
    home: Home,
    /// The identity of the file for `#pragma once`.
    identity: String,
    conditions: Vec<Condition>,
}

/// The location of a file.
#[derive(Clone)]
enum Home {
    /// In this directory.
    Disk(PathBuf),
    /// Among the embedded files, in this folder of their names.
    Embedded(PathBuf),
}

/// The file an include directive stands for.
struct Found {
    name: String,
    text: Arc<str>,
    home: Home,
}

pub(crate) struct Preprocessor<'a> {
    map: &'a mut SourceMap,
    options: &'a Options,
    diags: &'a mut Diagnostics,
    interner: Interner,
    frames: Vec<Frame>,
    /// Tokens to be read before the rest of the file; the last one is next.
    pending: Vec<Token>,
    /// While macro arguments are expanded on their own: files are not read on.
    isolated: bool,
    macro_depth: u32,
    macro_tokens: usize,
    macros: HashMap<Arc<str>, Rc<Macro>>,
    once: HashSet<String>,
    files: usize,
    /// A limit was exceeded: reading yields the end of the file.
    stopped: bool,
}

impl<'a> Preprocessor<'a> {
    pub(crate) fn new(map: &'a mut SourceMap, options: &'a Options, diags: &'a mut Diagnostics) -> Preprocessor<'a> {
        Preprocessor {
            map,
            options,
            diags,
            interner: Interner::default(),
            frames: Vec::new(),
            pending: Vec::new(),
            isolated: false,
            macro_depth: 0,
            macro_tokens: 0,
            macros: HashMap::new(),
            once: HashSet::new(),
            files: 0,
            stopped: false,
        }
    }

    /// Reads a program from disk. The last token is [`Tok::Eof`].
    pub(crate) fn run_file(self, root: &Path) -> Vec<Token> {
        match self.read(root) {
            Ok(text) => {
                let name = root.display().to_string();
                self.run(name, text, Home::Disk(folder(root)))
            }
            Err(error) => {
                self.diags.push(Diagnostic::error("E0001", format!("cannot read `{}`: {error}", root.display())));
                let file = self.map.add(root.display().to_string(), "", None);
                let at = Span::new(file, 0, 0);
                vec![Token::new(Tok::Eof, Arc::from(""), at)]
            }
        }
    }

    /// Reads a program from memory.
    pub(crate) fn run_text(self, name: &str, text: &str) -> Vec<Token> {
        let home = match self.options.no_disk {
            true => Home::Embedded(folder(Path::new(name))),
            false => Home::Disk(PathBuf::new()),
        };
        self.run(name.to_string(), Arc::from(text), home)
    }

    fn run(mut self, name: String, text: Arc<str>, home: Home) -> Vec<Token> {
        let root = self.map.add(name.as_str(), text, None);
        self.predefine();
        self.push_file(root, home, name);
        let mut tokens = Vec::new();
        loop {
            let mut token = self.next_expanded();
            if token.kind == Tok::Ident
                && let Some(keyword) = Kw::from_text(&token.text)
            {
                token.kind = Tok::Kw(keyword);
            }
            let end = token.kind == Tok::Eof;
            if end {
                // Report the end at the end of the program, not of an include file.
                let len = self.map.get(root).map_or(0, |f| f.text().len()) as u32;
                token.span = Span::new(root, len, len);
            }
            tokens.push(token);
            if end {
                return tokens;
            }
            if tokens.len() >= MAX_TOKENS {
                let at = tokens[MAX_TOKENS - 1].span;
                self.stop("E0009", "the program is too large", at);
            }
        }
    }

    /// Defines the predefined macros and those of the command line.
    fn predefine(&mut self) {
        let (date, time) = macros::date_and_time();
        let mut text = format!(
            "#define __DATE__ \"{date}\"\n#define __TIME__ \"{time}\"\n\
             #define __P4_16__ 1\n#define __HOPWRIGHT__ 1\n"
        );
        self.run_definitions("<built-in>", &text);
        if self.options.macros.is_empty() {
            return;
        }
        text.clear();
        for definition in &self.options.macros {
            let line = match definition {
                CommandLineMacro::Define { name, value } => {
                    format!("#define {name} {}", value.as_deref().unwrap_or("1"))
                }
                CommandLineMacro::Undefine(name) => format!("#undef {name}"),
            };
            text.push_str(&line.replace(['\n', '\r'], " "));
            text.push('\n');
        }
        self.run_definitions("<command line>", &text);
    }

    fn run_definitions(&mut self, name: &str, text: &str) {
        let file = self.map.add(name, text, None);
        self.push_file(file, Home::Embedded(PathBuf::new()), name.to_string());
        self.next_raw(false);
        self.frames.pop();
    }

    fn push_file(&mut self, file: FileId, home: Home, identity: String) {
        let text = self.map.get(file).map(|f| f.text().clone());
        self.frames.push(Frame {
            lexer: Lexer::new(file, text.unwrap_or_else(|| Arc::from(""))),
            home,
            identity,
            conditions: Vec::new(),
        });
    }

    /// Aborts the whole program.
    fn stop(&mut self, code: &'static str, message: impl Into<String>, at: Span) {
        if !self.stopped {
            self.diags.push(Diagnostic::error(code, message).at(at, "stopped here"));
        }
        self.stopped = true;
    }

    fn eof(&mut self) -> Token {
        let at = match self.frames.last() {
            Some(frame) => frame.lexer.here(),
            None => Span::none(),
        };
        Token::new(Tok::Eof, self.interner.intern(""), at)
    }

    /// The next token before macro expansion. Directives on the way are executed. With `leave_file`, the end of an include
    /// file is skipped.
    fn next_raw(&mut self, leave_file: bool) -> Token {
        loop {
            if self.stopped {
                return self.eof();
            }
            if let Some(token) = self.pending.pop() {
                return token;
            }
            if self.isolated {
                return self.eof();
            }
            let Some(frame) = self.frames.last_mut() else {
                return self.eof();
            };
            let token = frame.lexer.next(false, &mut self.interner, self.diags);
            if frame.lexer.take_open_string() {
                return self.string_with_directives(token);
            }
            match token.kind {
                Tok::Eof => {
                    if !leave_file {
                        return token;
                    }
                    for condition in frame.conditions.drain(..).take(MAX_UNTERMINATED) {
                        self.diags.push(
                            Diagnostic::error("E0004", "unterminated conditional")
                                .at(condition.opened, "this has no `#endif`"),
                        );
                    }
                    if self.frames.len() == 1 {
                        return token;
                    }
                    self.frames.pop();
                }
                Tok::P(P::Hash) if token.line_start => self.directive(token),
                // C preprocessors leave such lines to the language, where they are comments.
                Tok::P(P::HashHash) if token.line_start => drop(self.rest_of_line()),
                _ => return token,
            }
        }
    }

    /// Reads on a string of several lines of which some are directives. These are executed and leave empty lines.
    fn string_with_directives(&mut self, first: Token) -> Token {
        let mut text = first.text.to_string();
        while let Some(frame) = self.frames.last_mut() {
            let start = frame.lexer.position();
            match frame.lexer.string_line() {
                StringLine::Text(line, closed) => {
                    text.push_str(&line);
                    if closed {
                        break;
                    }
                }
                StringLine::Directive(at) => {
                    let hash = Token::new(Tok::P(P::Hash), self.interner.intern("#"), at);
                    self.directive(hash);
                    let lines = self.frames.last().map_or(0, |frame| frame.lexer.lines_since(start));
                    text.extend(std::iter::repeat_n('\n', lines));
                }
                StringLine::End => {
                    self.diags.push(unterminated_string(first.span));
                    break;
                }
            }
        }
        let span = self.frames.last().map_or(first.span, |frame| frame.lexer.span_from(first.span));
        let text = self.interner.intern(&text);
        Token { text, span, ..first }
    }

    /// The next token of the current directive.
    fn next_in_line(&mut self) -> Token {
        match self.frames.last_mut() {
            Some(frame) => frame.lexer.next(true, &mut self.interner, self.diags),
            None => self.eof(),
        }
    }

    fn rest_of_line(&mut self) -> (String, Span) {
        match self.frames.last_mut() {
            Some(frame) => frame.lexer.rest_of_line(),
            None => (String::new(), Span::none()),
        }
    }

    fn tokens_in_line(&mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        loop {
            let token = self.next_in_line();
            if token.kind == Tok::Eof {
                return tokens;
            }
            tokens.push(token);
        }
    }

    /// Executes one directive whose `#` has been read.
    fn directive(&mut self, hash: Token) {
        let name = self.next_in_line();
        match (name.kind, &*name.text) {
            (Tok::Eof, _) => {}
            (Tok::Ident, "include") => self.include(hash.span),
            (Tok::Ident, "define") => self.define(),
            (Tok::Ident, "undef") => {
                let target = self.next_in_line();
                if target.kind == Tok::Ident {
                    self.macros.remove(&target.text);
                    self.expect_line_end("#undef");
                } else {
                    self.bad_directive(&target, "expected the name of a macro after `#undef`");
                }
            }
            (Tok::Ident, "if" | "ifdef" | "ifndef") => {
                let active = self.opening_condition(&name);
                let opened = hash.span.to(name.span);
                if let Some(frame) = self.frames.last_mut() {
                    frame.conditions.push(Condition { opened, taken: active, active, else_seen: None });
                }
                if !active {
                    self.skip();
                }
            }
            (Tok::Ident, "elif" | "else" | "endif") => {
                self.branch(&name);
                self.skip();
            }
            (Tok::Ident, "error") => {
                let (text, at) = self.rest_of_line();
                let at = if text.is_empty() { name.span } else { at };
                self.diags.push(Diagnostic::error("E0008", format!("#error {text}")).at(at, ""));
            }
            (Tok::Ident, "warning") => {
                let (text, at) = self.rest_of_line();
                let at = if text.is_empty() { name.span } else { at };
                self.diags.push(Diagnostic::warning("W0012", format!("#warning {text}")).at(at, ""));
            }
            (Tok::Ident, "line") => self.line_directive(&name),
            (Tok::Int, _) => {
                // `# 12 "file"`, as C preprocessors write it.
                let mut tokens = self.tokens_in_line();
                tokens.insert(0, name);
                self.set_line(&tokens, hash.span);
            }
            (Tok::Ident, "pragma") => {
                let what = self.next_in_line();
                if &*what.text == "once"
                    && let Some(frame) = self.frames.last()
                {
                    self.once.insert(frame.identity.clone());
                }
                self.rest_of_line();
            }
            _ => self.unknown_directive(&hash, &name),
        }
    }

    /// A line such as `# TODO`, which C preprocessors ignore in text that is not C. What looks like a misspelled directive is
    /// an error all the same.
    fn unknown_directive(&mut self, hash: &Token, name: &Token) {
        if let Some(known) = DIRECTIVES.iter().find(|known| misspelled(&name.text, known)) {
            let unknown = Diagnostic::error("E0003", format!("unknown preprocessor directive `#{}`", name.text));
            let help = format!("did you mean `#{known}`?");
            let unknown = unknown.at(name.span, "").help(help).suggest(name.span, &*name.text, *known);
            self.diags.push(unknown);
        } else if !name.space {
            let ignored = Diagnostic::warning("W0013", format!("`#{}` is no preprocessor directive", name.text));
            self.diags
                .push(ignored.at(hash.span.to(name.span), "this line is ignored").help("comments begin with `//`"));
        }
        self.rest_of_line();
    }

    fn bad_directive(&mut self, at: &Token, message: &str) {
        self.diags.push(Diagnostic::error("E0003", message).at(at.span, ""));
        self.rest_of_line();
    }

    fn expect_line_end(&mut self, directive: &str) {
        let token = self.next_in_line();
        if token.kind != Tok::Eof {
            self.diags.push(
                Diagnostic::warning("W0013", format!("extra text after `{directive}`"))
                    .at(token.span, "this is ignored"),
            );
            self.rest_of_line();
        }
    }

    // --- conditionals ------------------------------------------------------------------------

    /// Evaluates the condition of `#if`, `#ifdef` or `#ifndef`.
    fn opening_condition(&mut self, directive: &Token) -> bool {
        if &*directive.text == "if" {
            return self.evaluate_condition(directive);
        }
        let name = self.next_in_line();
        if name.kind != Tok::Ident {
            let message = format!("expected the name of a macro after `#{}`", directive.text);
            self.bad_directive(&name, &message);
            return false;
        }
        self.expect_line_end(&format!("#{}", directive.text));
        self.is_defined(&name.text) == (&*directive.text == "ifdef")
    }

    fn evaluate_condition(&mut self, directive: &Token) -> bool {
        let line = self.tokens_in_line();
        let mut resolved = Vec::with_capacity(line.len());
        let mut at = 0;
        while at < line.len() {
            // `defined` takes names before expansion.
            if line[at].kind == Tok::Ident && &*line[at].text == "defined" {
                let paren = line.get(at + 1).is_some_and(|t| t.kind == Tok::P(P::LParen));
                let name = line.get(at + 1 + usize::from(paren));
                let closed = !paren || line.get(at + 3).is_some_and(|t| t.kind == Tok::P(P::RParen));
                let Some(name) = name.filter(|n| n.kind == Tok::Ident && closed) else {
                    self.diags.push(
                        Diagnostic::error("E0007", "`defined` needs the name of a macro")
                            .at(line[at].span, "")
                            .help("write `defined(NAME)` or `defined NAME`"),
                    );
                    return false;
                };
                let value = if self.is_defined(&name.text) { "1" } else { "0" };
                let text = self.interner.intern(value);
                resolved.push(Token::new(Tok::Int, text, name.span));
                at += if paren { 4 } else { 2 };
            } else {
                resolved.push(line[at].clone());
                at += 1;
            }
        }
        let tokens = self.expand_list(resolved);
        if self.stopped {
            return false;
        }
        match condition::evaluate(&tokens, directive.span) {
            Ok(value) => value != 0,
            Err(diagnostic) => {
                self.diags.push(diagnostic);
                false
            }
        }
    }

    fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || macros::is_dynamic(name)
    }

    /// `#elif`, `#else` or `#endif`: sets whether the innermost conditional is active now.
    fn branch(&mut self, directive: &Token) {
        let Some(condition) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) else {
            self.diags.push(
                Diagnostic::error("E0005", format!("`#{}` without `#if`", directive.text)).at(directive.span, ""),
            );
            self.rest_of_line();
            return;
        };
        if &*directive.text == "endif" {
            if let Some(frame) = self.frames.last_mut() {
                frame.conditions.pop();
            }
            self.rest_of_line();
            return;
        }
        if let Some(earlier) = condition.else_seen {
            self.diags.push(
                Diagnostic::error("E0005", format!("`#{}` after `#else`", directive.text))
                    .at(directive.span, "")
                    .related(earlier, "the `#else` is here"),
            );
            condition.active = false;
            self.rest_of_line();
            return;
        }
        let possible = !condition.taken;
        condition.active = false;
        let active = if &*directive.text == "else" {
            condition.else_seen = Some(directive.span);
            self.rest_of_line();
            possible
        } else if possible {
            self.evaluate_condition(directive)
        } else {
            self.rest_of_line();
            false
        };
        if let Some(condition) = self.frames.last_mut().and_then(|f| f.conditions.last_mut()) {
            condition.active = active;
            condition.taken |= active;
        }
    }

    /// Passes over text while the innermost conditional is not active.
    fn skip(&mut self) {
        let mut nested = 0u32;
        loop {
            let Some(frame) = self.frames.last_mut() else {
                return;
            };
            if nested == 0 && frame.conditions.last().is_none_or(|c| c.active) {
                return;
            }
            if !frame.lexer.skip_to_directive(self.diags) {
                return;
            }
            let name = self.next_in_line();
            match &*name.text {
                "if" | "ifdef" | "ifndef" => nested += 1,
                "endif" if nested > 0 => nested -= 1,
                "elif" | "else" | "endif" if nested == 0 => self.branch(&name),
                _ => {}
            }
        }
    }

    // --- #line -------------------------------------------------------------------------------

    fn line_directive(&mut self, name: &Token) {
        let tokens = self.tokens_in_line();
        let tokens = self.expand_list(tokens);
        self.set_line(&tokens, name.span);
    }

    fn set_line(&mut self, tokens: &[Token], at: Span) {
        let line = tokens.first().filter(|t| t.kind == Tok::Int).and_then(|t| t.text.parse::<u32>().ok());
        let Some(presumed_line) = line else {
            self.diags.push(
                Diagnostic::error("E0003", "`#line` needs a line number").at(tokens.first().map_or(at, |t| t.span), ""),
            );
            return;
        };
        let presumed_name = tokens.get(1).filter(|t| t.kind == Tok::Str).map(|t| Arc::from(string_body(&t.text)));
        if let Some(file) = self.map.get(at.file) {
            let from_line = file.line_index(at.start) as u32 + 2;
            self.map.add_line_mark(at.file, LineMark { from_line, presumed_line, presumed_name });
        }
    }

    // --- #include ----------------------------------------------------------------------------
}

/// Directives, to recognise misspelled ones.
const DIRECTIVES: [&str; 12] =
    ["include", "define", "undef", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "pragma", "line"];

/// Whether a word is another with one character too many, too few or wrong, or with two neighbours exchanged.
fn misspelled(word: &str, known: &str) -> bool {
    let (a, b) = (word.as_bytes(), known.as_bytes());
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([_, rest @ ..], b) if rest == b => true,
        (a, [_, rest @ ..]) if rest == a => true,
        ([x, y, a @ ..], [v, w, b @ ..]) => x == w && y == v && a == b,
        _ => false,
    }
}

/// The folder of a file.
fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A string token's text without its quotes.
pub(crate) fn string_body(token: &str) -> &str {
    let body = token.strip_prefix('"').unwrap_or(token);
    body.strip_suffix('"').unwrap_or(body)
}
