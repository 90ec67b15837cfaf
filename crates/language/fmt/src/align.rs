//! Aligns what stands below each other in lines that follow each other: names of fields, colons of keys and entries, comments.

use std::ops::Range;

use crate::WIDTH;
use crate::layout::{TextKind, TextLine};

/// Spaces between code and the comment behind it, at least.
const BEFORE_COMMENT: usize = 2;

/// The text of lines.
pub(crate) fn render(mut lines: Vec<TextLine>) -> String {
    align_cells(&mut lines);
    align_comments(&mut lines);
    let mut text = String::new();
    for line in &lines {
        if line.blank {
            text.push('\n');
        }
        text.extend(std::iter::repeat_n(' ', line.indent));
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Aligns the second columns of lines between empty lines; comments and directives may stand between them.
fn align_cells(lines: &mut [TextLine]) {
    let mut run: Vec<usize> = Vec::new();
    for i in 0..=lines.len() {
        let line = lines.get(i);
        let goes_on = line.is_some_and(|line| {
            let same = run.last().is_none_or(|&last| lines[last].indent == line.indent);
            !line.blank && (line.kind != TextKind::Code || (line.cell.is_some() && same))
        });
        if !goes_on {
            align_run(lines, &run);
            run.clear();
        }
        if lines.get(i).is_some_and(|line| line.cell.is_some() && line.kind == TextKind::Code) {
            run.push(i);
        }
    }
}

fn align_run(lines: &mut [TextLine], run: &[usize]) {
    let before = |line: &TextLine| width(&line.text[..line.cell.unwrap_or(0)]);
    let target = run.iter().map(|&i| before(&lines[i])).max().unwrap_or(0);
    let too_wide = run.iter().any(|&i| {
        let line = &lines[i];
        let code = width(&line.text[..line.comment.unwrap_or(line.text.len())]);
        let padding = target - before(line);
        padding > 0 && line.indent + code + padding > WIDTH
    });
    if too_wide {
        return;
    }
    for &i in run {
        let padding = target - before(&lines[i]);
        let line = &mut lines[i];
        if let Some(cell) = line.cell {
            line.text.insert_str(cell, &" ".repeat(padding));
            line.comment = line.comment.map(|at| at + padding);
        }
    }
}

/// Whether a line goes on with the comment behind the line before it.
fn continues(lines: &[TextLine], i: usize, column: Option<usize>) -> bool {
    lines[i].kind == TextKind::Comment
        && !lines[i].blank
        && column.is_some()
        && lines[i].comment_column == column
        && !lines[i].text.contains('\n')
}

/// Aligns comments behind lines that follow each other.
fn align_comments(lines: &mut [TextLine]) {
    let mut i = 0;
    while i < lines.len() {
        if lines[i].comment.is_none() {
            i += 1;
            continue;
        }
        let start = i;
        let indent = lines[i].indent;
        let mut column = lines[i].comment_column;
        i += 1;
        while i < lines.len() && !lines[i].blank {
            if lines[i].comment.is_some() && lines[i].indent == indent {
                column = lines[i].comment_column;
            } else if !continues(lines, i, column) {
                break;
            }
            i += 1;
        }
        align_comment_run(lines, start..i);
    }
}

fn align_comment_run(lines: &mut [TextLine], run: Range<usize>) {
    let code = |line: &TextLine| line.comment.map(|at| line.indent + width(&line.text[..at]) + BEFORE_COMMENT);
    let comment = |line: &TextLine| width(line.text[line.comment.unwrap_or(0)..].trim_start());
    let lines = &mut lines[run];
    let target = lines.iter().filter_map(code).max().unwrap_or(0);
    let fits = lines.iter().all(|line| {
        let own = code(line).unwrap_or(target);
        target + comment(line) <= WIDTH || own + comment(line) > WIDTH
    });
    let mut column = target;
    for line in lines {
        if let (Some(at), Some(own)) = (line.comment, code(line)) {
            column = if fits { target } else { own };
            let padding = column - own + BEFORE_COMMENT;
            line.text = format!("{}{}{}", &line.text[..at], " ".repeat(padding), line.text[at..].trim_start());
        } else {
            line.indent = column;
        }
    }
}
