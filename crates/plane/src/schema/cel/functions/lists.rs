//! Lists and sets.

use std::cmp::Ordering;
use std::rc::Rc;

use super::super::value::Val;
use super::Out;
use super::call as call_function;

pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    let elements = match values.first()?.elements()? {
        Ok(elements) => elements,
        Err(error) => return Some(Err(error)),
    };
    let list = |all: Vec<Val<'a>>| Ok(Val::List(Rc::new(all)));
    let position = |found: Option<usize>| Ok(Val::Int(found.map_or(-1, |at| at as i64)));
    Some(match (name, &values[1..]) {
        ("_+_", [other]) => match other.elements()? {
            Ok(more) => list(elements.into_iter().chain(more).collect()),
            Err(error) => Err(error),
        },
        ("isSorted", []) => Ok(Val::Bool(
            elements.windows(2).all(|pair| pair[0].order(&pair[1]).is_some_and(Ordering::is_le)),
        )),
        ("sum", []) => elements
            .into_iter()
            .map(Ok)
            .reduce(|sum, next| call_function("_+_", false, &[sum?, next?]))
            .unwrap_or(Ok(Val::Int(0))),
        ("min", []) => extreme(elements, Ordering::Less),
        ("max", []) => extreme(elements, Ordering::Greater),
        ("indexOf", [value]) => position(elements.iter().position(|element| element.same(value))),
        ("lastIndexOf", [value]) => position(elements.iter().rposition(|element| element.same(value))),
        ("reverse", []) => list(elements.into_iter().rev().collect()),
        ("distinct", []) => {
            let mut out: Vec<Val<'a>> = Vec::new();
            for element in elements {
                if !out.iter().any(|other| other.same(&element)) {
                    out.push(element);
                }
            }
            list(out)
        }
        ("sort", []) => {
            let mut out = elements;
            if out.windows(2).any(|pair| pair[0].order(&pair[1]).is_none()) {
                return Some(Err("list elements must have the same type".into()));
            }
            out.sort_by(|a, b| a.order(b).unwrap_or(Ordering::Equal));
            list(out)
        }
        ("slice", [Val::Int(from), Val::Int(until)]) => {
            match (usize::try_from(*from), usize::try_from(*until)) {
                (Ok(from), Ok(until)) if from <= until && until <= elements.len() => {
                    list(elements[from..until].to_vec())
                }
                _ => Err(format!("cannot slice({from}, {until}), list is length {}", elements.len())),
            }
        }
        ("flatten", depth) => {
            let depth = match depth {
                [Val::Int(depth)] if *depth < 0 => return Some(Err("level must be non-negative".into())),
                [Val::Int(depth)] => *depth,
                _ => 1,
            };
            let mut out = Vec::new();
            match flatten(elements, depth.min(64), &mut out) {
                Ok(()) => list(out),
                Err(error) => Err(error),
            }
        }
        ("first", []) => Ok(Val::Optional(elements.first().cloned().map(Rc::new))),
        ("last", []) => Ok(Val::Optional(elements.last().cloned().map(Rc::new))),
        ("sets.contains" | "sets.intersects" | "sets.equivalent", [other]) => match other.elements()? {
            Ok(other) => {
                let has = |all: &[Val<'a>], value: &Val<'a>| all.iter().any(|element| element.same(value));
                Ok(Val::Bool(match name {
                    "sets.contains" => other.iter().all(|value| has(&elements, value)),
                    "sets.intersects" => other.iter().any(|value| has(&elements, value)),
                    _ => other.iter().all(|v| has(&elements, v)) && elements.iter().all(|v| has(&other, v)),
                }))
            }
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

fn extreme<'a>(elements: Vec<Val<'a>>, wanted: Ordering) -> Out<'a> {
    let name = if wanted == Ordering::Less { "min" } else { "max" };
    elements
        .into_iter()
        .reduce(|best, next| if next.order(&best) == Some(wanted) { next } else { best })
        .ok_or_else(|| format!("{name} called on empty list"))
}

fn flatten<'a>(elements: Vec<Val<'a>>, depth: i64, out: &mut Vec<Val<'a>>) -> Result<(), String> {
    for element in elements {
        match element.elements() {
            Some(inner) if depth > 0 => flatten(inner?, depth - 1, out)?,
            _ => out.push(element),
        }
    }
    Ok(())
}
