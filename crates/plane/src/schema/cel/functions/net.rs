//! URLs, addresses, quantities and versions.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use super::super::value::Val;
use super::Out;
use crate::builtin::quantity::Quantity;

pub(super) fn call<'a>(name: &str, values: &[Val<'a>]) -> Option<Out<'a>> {
    match values {
        [Val::Text(text), rest @ ..] => from_text(name, text, rest),
        [Val::Url(url, relative)] => {
            Some(of_url(name, url, *relative)?.map(Val::text)).or_else(|| query(name, url))
        }
        [Val::Ip(ip)] => Some(Ok(of_ip(name, ip)?)),
        [Val::Cidr(ip, bits), rest @ ..] => of_cidr(name, *ip, *bits, rest),
        [Val::Quantity(quantity), rest @ ..] => of_quantity(name, *quantity, rest),
        [Val::Semver(version), rest @ ..] => of_semver(name, version, rest),
        _ => None,
    }
    .or_else(|| match (name, values) {
        ("getQuery", [Val::Url(url, _)]) => query(name, url),
        _ => None,
    })
}

fn from_text<'a>(name: &str, text: &str, rest: &[Val<'a>]) -> Option<Out<'a>> {
    let lenient = matches!(rest, [Val::Bool(true)]);
    Some(match name {
        "url" => url(text).map(|(url, relative)| Val::Url(Rc::new(url), relative)).ok_or_else(|| format!("URL parse error during conversion from string: parse {text:?}: invalid URI for request")),
        "isURL" => Ok(Val::Bool(url(text).is_some())),
        "ip" => ip(text).map(Val::Ip).ok_or_else(|| format!("IP Address {text:?} parse error during conversion from string: unable to parse IP")),
        "isIP" => Ok(Val::Bool(ip(text).is_some())),
        "ip.isCanonical" => match ip(text) {
            Some(ip) => Ok(Val::Bool(ip.to_string() == text)),
            None => Err(format!("IP Address {text:?} parse error during conversion from string: unable to parse IP")),
        },
        "cidr" => cidr(text).map(|(ip, bits)| Val::Cidr(ip, bits)).ok_or_else(|| format!("network address parse error during conversion from string: netip.ParsePrefix({text:?}): no '/'")),
        "isCIDR" => Ok(Val::Bool(cidr(text).is_some())),
        "quantity" => Quantity::parse(text).map(Val::Quantity).ok_or_else(|| {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
        }),
        "isQuantity" => Ok(Val::Bool(Quantity::parse(text).is_some())),
        "semver" => version(text, lenient).map(|v| Val::Semver(Rc::new(v))).ok_or_else(|| format!("semver {text:?} parse error")),
        "isSemver" => Ok(Val::Bool(version(text, lenient).is_some())),
        _ => return None,
    })
}

/// An absolute URL, or a path (whose host is made up and never shown).
fn url(text: &str) -> Option<(reqwest::Url, bool)> {
    if text.starts_with('/') {
        let url = reqwest::Url::parse("http://relative").ok()?.join(text).ok()?;
        return Some((url, true));
    }
    let (scheme, _) = text.split_once(':')?;
    if scheme.is_empty() || text.contains(' ') {
        return None;
    }
    reqwest::Url::parse(text).ok().map(|url| (url, false))
}

pub(super) fn show_url(url: &reqwest::Url, relative: bool) -> String {
    let text = url.as_str();
    if relative { text.trim_start_matches("http://relative").to_owned() } else { text.to_owned() }
}

fn of_url(name: &str, url: &reqwest::Url, relative: bool) -> Option<Result<String, String>> {
    let absolute = |text: String| if relative { String::new() } else { text };
    let host = || url.host_str().unwrap_or_default().to_owned();
    Some(Ok(match name {
        "getScheme" => absolute(url.scheme().to_owned()),
        "getHost" => absolute(match url.port() {
            Some(port) => format!("{}:{port}", host()),
            None => host(),
        }),
        "getHostname" => absolute(host().trim_matches(['[', ']']).to_owned()),
        "getPort" => url.port().map(|port| port.to_string()).unwrap_or_default(),
        "getEscapedPath" => url.path().to_owned(),
        _ => return None,
    }))
}

fn query<'a>(name: &str, url: &reqwest::Url) -> Option<Out<'a>> {
    if name != "getQuery" {
        return None;
    }
    let mut all: BTreeMap<String, Vec<Val<'a>>> = BTreeMap::new();
    for (key, value) in url.query_pairs() {
        all.entry(key.into_owned()).or_default().push(Val::text(value));
    }
    Some(Ok(Val::Map(Rc::new(all.into_iter().map(|(key, list)| (key, Val::List(Rc::new(list)))).collect()))))
}

/// No zones, and no IPv4 in IPv6 clothes.
fn ip(text: &str) -> Option<IpAddr> {
    match text.parse().ok()? {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => None,
        ip => Some(ip),
    }
}

fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits) = (ip(address)?, bits.parse().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

fn of_ip<'a>(name: &str, ip: &IpAddr) -> Option<Val<'a>> {
    let link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let link_local_multicast = match ip {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    };
    Some(match name {
        "family" => Val::Int(if ip.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Val::Bool(ip.is_unspecified()),
        "isLoopback" => Val::Bool(ip.is_loopback()),
        "isLinkLocalUnicast" => Val::Bool(link_local),
        "isLinkLocalMulticast" => Val::Bool(link_local_multicast),
        "isGlobalUnicast" => Val::Bool(
            !ip.is_unspecified()
                && !ip.is_loopback()
                && !ip.is_multicast()
                && !link_local
                && !is_broadcast(ip),
        ),
        _ => return None,
    })
}

fn is_broadcast(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V4(v4) if v4.is_broadcast())
}

fn number(ip: IpAddr) -> (u128, u8) {
    match ip {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    }
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    let (value, width) = number(ip);
    let kept = match width - bits {
        128 => 0,
        shift => value >> shift << shift,
    };
    match ip {
        IpAddr::V4(_) => IpAddr::V4((kept as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(kept.into()),
    }
}

fn of_cidr<'a>(name: &str, address: IpAddr, bits: u8, rest: &[Val<'a>]) -> Option<Out<'a>> {
    let holds =
        |other: IpAddr| other.is_ipv4() == address.is_ipv4() && masked(other, bits) == masked(address, bits);
    Some(match (name, rest) {
        ("ip", []) => Ok(Val::Ip(address)),
        ("prefixLength", []) => Ok(Val::Int(bits.into())),
        ("masked", []) => Ok(Val::Cidr(masked(address, bits), bits)),
        ("containsIP", [Val::Ip(other)]) => Ok(Val::Bool(holds(*other))),
        ("containsIP", [Val::Text(text)]) => match ip(text) {
            Some(other) => Ok(Val::Bool(holds(other))),
            None => Err(format!(
                "IP Address {:?} parse error during conversion from string: unable to parse IP",
                &**text
            )),
        },
        ("containsCIDR", [other]) => {
            let other = match other {
                Val::Cidr(ip, bits) => Some((*ip, *bits)),
                Val::Text(text) => cidr(text),
                _ => None,
            };
            match other {
                Some((ip, length)) => Ok(Val::Bool(length >= bits && holds(ip))),
                None => Err("network address parse error during conversion from string".into()),
            }
        }
        _ => return None,
    })
}

fn of_quantity<'a>(name: &str, quantity: Quantity, rest: &[Val<'a>]) -> Option<Out<'a>> {
    let other = match rest {
        [Val::Quantity(other)] => Some(*other),
        [Val::Int(units)] => Some(Quantity::from_units(*units)),
        _ => None,
    };
    let sum = |nano: Option<i128>| match nano {
        Some(nano) => Ok(Val::Quantity(quantity.with_nano(nano))),
        None => Err("quantity overflow".to_owned()),
    };
    Some(match (name, other) {
        ("sign", None) => Ok(Val::Int(quantity.nano().signum() as i64)),
        ("isInteger", None) => Ok(Val::Bool(quantity.as_units().is_some())),
        ("asInteger", None) => {
            quantity.as_units().map(Val::Int).ok_or_else(|| "cannot convert value to integer".to_owned())
        }
        ("asApproximateFloat", None) => Ok(Val::Double(quantity.nano() as f64 / 1e9)),
        ("add", Some(other)) => sum(quantity.nano().checked_add(other.nano())),
        ("sub", Some(other)) => sum(quantity.nano().checked_sub(other.nano())),
        ("isGreaterThan", Some(other)) => Ok(Val::Bool(quantity > other)),
        ("isLessThan", Some(other)) => Ok(Val::Bool(quantity < other)),
        ("compareTo", Some(other)) => Ok(Val::Int(quantity.cmp(&other) as i64)),
        _ => return None,
    })
}

/// Strict, or with a leading `v`, missing parts and leading zeros made good.
fn version(text: &str, lenient: bool) -> Option<semver::Version> {
    if !lenient {
        return semver::Version::parse(text).ok();
    }
    let text = text.trim_start_matches('v');
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut parts: Vec<String> = core
        .split('.')
        .map(|part| part.parse::<u64>().map(|n| n.to_string()))
        .collect::<Result<_, _>>()
        .ok()?;
    parts.resize(3.max(parts.len()), "0".into());
    semver::Version::parse(&format!("{}{rest}", parts.join("."))).ok()
}

fn of_semver<'a>(name: &str, version: &semver::Version, rest: &[Val<'a>]) -> Option<Out<'a>> {
    Some(Ok(match (name, rest) {
        ("major", []) => Val::Int(version.major as i64),
        ("minor", []) => Val::Int(version.minor as i64),
        ("patch", []) => Val::Int(version.patch as i64),
        ("isGreaterThan", [Val::Semver(other)]) => Val::Bool(version.cmp_precedence(other).is_gt()),
        ("isLessThan", [Val::Semver(other)]) => Val::Bool(version.cmp_precedence(other).is_lt()),
        ("compareTo", [Val::Semver(other)]) => Val::Int(version.cmp_precedence(other) as i64),
        _ => return None,
    }))
}
