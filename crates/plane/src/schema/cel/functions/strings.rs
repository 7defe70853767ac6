//! Strings and regular expressions.

use std::rc::Rc;

use super::super::value::Val;
use super::{Out, formats, show};
use crate::schema::compile_pattern;
use crate::status::go_quote;

/// Output of `format` and `replace` beyond this is refused rather than built.
const MAX_TEXT: usize = 16 << 20;

pub(super) fn call<'a>(name: &str, member: bool, values: &[Val<'a>]) -> Option<Out<'a>> {
    let text = |text: String| Ok(Val::text(text));
    let list = |all: Vec<Val<'a>>| Ok(Val::List(Rc::new(all)));
    Some(match (name, values) {
        ("_+_", [Val::Text(a), Val::Text(b)]) => text(format!("{a}{b}")),
        ("_+_", [Val::Bytes(a), Val::Bytes(b)]) => {
            Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        ("contains", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.contains(&**b))),
        ("startsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.starts_with(&**b))),
        ("endsWith", [Val::Text(a), Val::Text(b)]) => Ok(Val::Bool(a.ends_with(&**b))),
        ("matches", [Val::Text(a), Val::Text(b)]) => {
            compile_pattern(b).map(|regex| Val::Bool(regex.is_match(a)))
        }
        ("find", [Val::Text(a), Val::Text(b)]) => {
            compile_pattern(b).map(|regex| Val::text(regex.find(a).map_or("", |found| found.as_str())))
        }
        ("findAll", [Val::Text(a), Val::Text(b), rest @ ..]) => {
            let limit = match rest {
                [Val::Int(limit)] if *limit >= 0 => *limit as usize,
                _ => usize::MAX,
            };
            match compile_pattern(b) {
                Ok(regex) => {
                    list(regex.find_iter(a).take(limit).map(|found| Val::text(found.as_str())).collect())
                }
                Err(error) => Err(error),
            }
        }
        ("charAt", [Val::Text(a), Val::Int(at)]) => {
            match usize::try_from(*at).ok().filter(|at| *at <= a.chars().count()) {
                Some(at) => text(a.chars().nth(at).map(String::from).unwrap_or_default()),
                None => Err(format!("index out of range: {at}")),
            }
        }
        ("indexOf", [Val::Text(a), Val::Text(b), rest @ ..]) => index_of(a, b, rest),
        ("lastIndexOf", [Val::Text(a), Val::Text(b), rest @ ..]) => last_index_of(a, b, rest),
        ("lowerAscii", [Val::Text(a)]) => text(a.to_ascii_lowercase()),
        ("upperAscii", [Val::Text(a)]) => text(a.to_ascii_uppercase()),
        ("trim", [Val::Text(a)]) => text(a.trim().to_owned()),
        ("reverse", [Val::Text(a)]) => text(a.chars().rev().collect()),
        ("strings.quote", [Val::Text(a)]) => text(go_quote(a)),
        ("replace", [Val::Text(a), Val::Text(b), Val::Text(c), rest @ ..]) => {
            if a.len().saturating_add(1).saturating_mul(c.len().max(1)) > MAX_TEXT {
                return Some(Err("result of replace is too long".into()));
            }
            match rest {
                [Val::Int(count)] if *count >= 0 => text(a.replacen(&**b, c, *count as usize)),
                _ => text(a.replace(&**b, c)),
            }
        }
        ("split", [Val::Text(a), Val::Text(b), rest @ ..]) => {
            let limit = match rest {
                [Val::Int(limit)] => *limit,
                _ => -1,
            };
            let parts: Vec<String> = match limit {
                0 => Vec::new(),
                limit if b.is_empty() => {
                    let chars: Vec<char> = a.chars().collect();
                    let most = if limit < 0 { chars.len() } else { (limit as usize).min(chars.len()) };
                    let mut parts: Vec<String> = chars.iter().take(most).map(|c| c.to_string()).collect();
                    if let Some(last) = parts.last_mut() {
                        last.extend(&chars[most..]);
                    }
                    parts
                }
                limit if limit < 0 => a.split(&**b).map(str::to_owned).collect(),
                limit => a.splitn(limit as usize, &**b).map(str::to_owned).collect(),
            };
            list(parts.into_iter().map(Val::text).collect())
        }
        ("substring", [Val::Text(a), Val::Int(from), rest @ ..]) => {
            let chars: Vec<char> = a.chars().collect();
            let until = match rest {
                [Val::Int(until)] => *until,
                _ => chars.len() as i64,
            };
            match (usize::try_from(*from), usize::try_from(until)) {
                (Ok(from), Ok(until)) if from <= until && until <= chars.len() => {
                    text(chars[from..until].iter().collect())
                }
                _ => Err(format!("index out of range: {from}")),
            }
        }
        ("join", [receiver, rest @ ..]) if member => {
            let separator = match rest {
                [Val::Text(separator)] => &**separator,
                _ => "",
            };
            let parts = match receiver.elements()? {
                Ok(parts) => parts,
                Err(error) => return Some(Err(error)),
            };
            text(parts.iter().map(show).collect::<Vec<_>>().join(separator))
        }
        ("format", [Val::Text(pattern), args]) => match args.elements()? {
            Ok(args) => formats::printf(pattern, &args).map(Val::text),
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

fn index_of<'a>(text: &str, part: &str, from: &[Val<'a>]) -> Out<'a> {
    let chars: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let from = match from {
        [Val::Int(from)] => match usize::try_from(*from) {
            Ok(from) if from <= chars.len() => from,
            _ => return Err(format!("index out of range: {from}")),
        },
        _ => 0,
    };
    let found = (from..=chars.len()).find(|at| chars[*at..].starts_with(&part));
    Ok(Val::Int(found.map_or(-1, |at| at as i64)))
}

fn last_index_of<'a>(text: &str, part: &str, until: &[Val<'a>]) -> Out<'a> {
    let chars: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let until = match until {
        [Val::Int(until)] => match usize::try_from(*until) {
            Ok(until) if until <= chars.len() => until,
            _ => return Err(format!("index out of range: {until}")),
        },
        _ => chars.len(),
    };
    let found = (0..=until).rev().find(|at| chars[*at..].starts_with(&part));
    Ok(Val::Int(found.map_or(-1, |at| at as i64)))
}
