//! `format.…().validate(text)` and `"%s".format([…])`.

use std::rc::Rc;

use super::super::value::Val;
use super::{Out, show};
use crate::builtin::names;
use crate::schema::{check_format, go_float};

/// `format` output beyond this is refused rather than built.
const MAX_TEXT: usize = 1 << 20;

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    let format = |name: &str| NAMES.contains(&name).then(|| Val::Format(name.into()));
    Some(match (name, values) {
        ("format.named", [Val::Text(name)]) => Ok(Val::Optional(format(name).map(Rc::new))),
        ("validate", [Val::Format(format), Val::Text(text)]) => {
            Ok(Val::Optional(match judge(format, text) {
                Ok(()) => None,
                Err(why) => Some(Rc::new(Val::List(Rc::new(vec![Val::text(why)])))),
            }))
        }
        (name, []) => Ok(format(name.strip_prefix("format.")?)?),
        _ => return None,
    })
}

fn judge(format: &str, text: &str) -> Result<(), String> {
    let prefix = || text.strip_suffix('-').unwrap_or(text);
    match format {
        "dns1123Label" => names::dns_label(text),
        "dns1123Subdomain" => names::dns_subdomain(text),
        "dns1035Label" => names::dns_1035_label(text),
        "qualifiedName" => names::qualified_name(text),
        "dns1123LabelPrefix" => names::dns_label(prefix()),
        "dns1123SubdomainPrefix" => names::dns_subdomain(prefix()),
        "dns1035LabelPrefix" => names::dns_1035_label(prefix()),
        "labelValue" => names::label_value(text),
        other => match check_format(other, text) {
            Some(false) => Err(format!("invalid {other}")),
            _ => Ok(()),
        },
    }
}

/// Fills in a format string.
pub(super) fn printf(pattern: &str, args: &[Val<'_>]) -> Result<String, String> {
    let mut out = String::new();
    let mut args = args.iter();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if out.len() > MAX_TEXT {
            return Err("result of format is too long".into());
        }
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut precision = None;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = digits.parse::<usize>().ok().map(|p| p.min(100));
        }
        let verb = chars.next().ok_or("could not parse formatting clause: unexpected end of string")?;
        let arg = args.next().ok_or_else(|| format!("index {} out of range", args.len()))?;
        let wrong =
            || format!("error during formatting: {verb} clause can not be used on {}", arg.type_name());
        let text = match (verb, arg) {
            ('s', arg) => show(arg),
            ('d', Val::Int(_) | Val::Uint(_)) => show(arg),
            ('d', Val::Double(d)) => go_float(*d),
            ('f', Val::Double(d)) => format!("{d:.*}", precision.unwrap_or(6)),
            ('f', Val::Int(n)) => format!("{:.*}", precision.unwrap_or(6), *n as f64),
            ('e', Val::Double(d)) => {
                let text = format!("{d:.*e}", precision.unwrap_or(6));
                match text.split_once('e') {
                    Some((mantissa, exponent)) => {
                        let exponent: i32 = exponent.parse().unwrap_or_default();
                        format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
                    }
                    None => text,
                }
            }
            ('b', Val::Int(n)) => format!("{n:b}"),
            ('b', Val::Bool(b)) => u8::from(*b).to_string(),
            ('o', Val::Int(n)) => format!("{n:o}"),
            ('x', Val::Int(n)) => format!("{n:x}"),
            ('X', Val::Int(n)) => format!("{n:X}"),
            ('x', Val::Text(text)) => text.bytes().map(|b| format!("{b:02x}")).collect(),
            ('X', Val::Text(text)) => text.bytes().map(|b| format!("{b:02X}")).collect(),
            ('d' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X', _) => return Err(wrong()),
            _ => {
                return Err(format!(
                    "could not parse formatting clause: unrecognized formatting clause \"{verb}\""
                ));
            }
        };
        out.push_str(&text);
    }
    Ok(out)
}
