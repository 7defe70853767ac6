//! Arithmetic and conversions of numbers.

use super::super::value::Val;
use super::Out;

pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    let overflow = || Err("integer overflow".to_owned());
    let int = |value: Option<i64>| value.map(Val::Int).map_or_else(overflow, Ok);
    let uint =
        |value: Option<u64>| value.map(Val::Uint).map_or_else(|| Err("unsigned integer overflow".into()), Ok);
    Some(match (name, values) {
        ("-_", [Val::Int(n)]) => int(n.checked_neg()),
        ("-_", [Val::Double(n)]) => Ok(Val::Double(-n)),
        ("_+_", [Val::Int(a), Val::Int(b)]) => int(a.checked_add(*b)),
        ("_-_", [Val::Int(a), Val::Int(b)]) => int(a.checked_sub(*b)),
        ("_*_", [Val::Int(a), Val::Int(b)]) => int(a.checked_mul(*b)),
        ("_/_" | "_%_", [Val::Int(_), Val::Int(0)]) | ("_/_" | "_%_", [Val::Uint(_), Val::Uint(0)]) => {
            Err(if name == "_/_" { "division by zero" } else { "modulus by zero" }.into())
        }
        ("_/_", [Val::Int(a), Val::Int(b)]) => int(a.checked_div(*b)),
        ("_%_", [Val::Int(a), Val::Int(b)]) => int(a.checked_rem(*b)),
        ("_+_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_add(*b)),
        ("_-_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_sub(*b)),
        ("_*_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_mul(*b)),
        ("_/_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_div(*b)),
        ("_%_", [Val::Uint(a), Val::Uint(b)]) => uint(a.checked_rem(*b)),
        ("_+_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a + b)),
        ("_-_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a - b)),
        ("_*_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a * b)),
        ("_/_", [Val::Double(a), Val::Double(b)]) => Ok(Val::Double(a / b)),
        ("int", [value]) => match value {
            Val::Int(n) => Ok(Val::Int(*n)),
            Val::Uint(n) => int(i64::try_from(*n).ok()),
            Val::Double(n) if n.abs() < 9.2e18 => Ok(Val::Int(*n as i64)),
            Val::Double(_) => overflow(),
            Val::Text(text) => {
                text.parse().map(Val::Int).map_err(|_| "type conversion error from 'string' to 'int'".into())
            }
            Val::Time(time) => Ok(Val::Int(time.as_second())),
            Val::Duration(nanos) => Ok(Val::Int(*nanos / 1_000_000_000)),
            _ => return None,
        },
        ("uint", [value]) => match value {
            Val::Uint(n) => Ok(Val::Uint(*n)),
            Val::Int(n) => uint(u64::try_from(*n).ok()),
            Val::Double(n) if *n >= 0.0 && *n < 1.8e19 => Ok(Val::Uint(*n as u64)),
            Val::Double(_) => uint(None),
            Val::Text(text) => text
                .parse()
                .map(Val::Uint)
                .map_err(|_| "type conversion error from 'string' to 'uint'".into()),
            _ => return None,
        },
        ("double", [value]) => match value {
            Val::Double(n) => Ok(Val::Double(*n)),
            Val::Int(n) => Ok(Val::Double(*n as f64)),
            Val::Uint(n) => Ok(Val::Double(*n as f64)),
            Val::Text(text) => text
                .parse()
                .map(Val::Double)
                .map_err(|_| "type conversion error from 'string' to 'double'".into()),
            _ => return None,
        },
        _ => return None,
    })
}
