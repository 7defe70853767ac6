//! From source text to a syntax tree, with errors worded as the real compiler words them.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::SourceInfo;
use cel::parser::Parser;

use crate::schema::memo::Memo;

/// A parsed expression and where each node stands in the source.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) root: IdedExpr,
    info: SourceInfo,
}

/// An expression, or the text of all issues with it.
pub(super) type Outcome = Arc<Result<Parsed, String>>;

/// Parses an expression. Parsing is slow and rules repeat, so parsed ones are kept.
pub(super) fn parse(source: &str) -> Outcome {
    static KNOWN: Memo<Outcome> = Memo::new(1024);
    KNOWN.get(source, |source| Arc::new(parse_anew(source)))
}

fn parse_anew(source: &str) -> Result<Parsed, String> {
    match Parser::new().enable_optional_syntax(true).parse_with_source_info(source) {
        Ok((root, info)) => Ok(Parsed { root, info }),
        Err(errors) => {
            let issues = errors.errors.iter().map(|e| {
                let (line, column) = (e.pos.0.max(1) as usize, e.pos.1.max(1) as usize);
                issue(source, line, column, &e.msg)
            });
            Err(issues.collect::<Vec<_>>().join("\n"))
        }
    }
}

impl Parsed {
    /// An issue at the node with this id.
    pub(super) fn issue(&self, id: u64, message: &str) -> String {
        let source = &self.info.source;
        let offset = self.info.offset_for(id).map_or(0, |(start, _)| start as usize);
        let before: String = source.chars().take(offset).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        issue(source, line, column, message)
    }
}

fn issue(source: &str, line: usize, column: usize, message: &str) -> String {
    let snippet = source.lines().nth(line - 1).unwrap_or_default();
    format!("ERROR: <input>:{line}:{column}: {message}\n | {snippet}\n | {}^", ".".repeat(column - 1))
}
