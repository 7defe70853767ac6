//! What functions there are, for what arguments, and what they return.
//!
//! A row is name, signatures, result. A signature is one letter per argument, a member function's receiver first and
//! set apart by a dot:
//!
//! `s` string, `i` int, `u` uint, `d` double, `b` bool, `y` bytes, `t` timestamp, `r` duration, `l` list, `m` map,
//! `S` list of strings, `T` type, `o` optional, `a` anything; of the Kubernetes libraries `U` url, `I` ip, `C` cidr,
//! `Q` quantity, `V` semver, `F` format; of questions about rights `A` authorizer, `P` path, `G` group, `R` resource,
//! `D` decision. As a result also `e` the element of the receiving list, `L` the receiving list
//! itself, `v` the value inside an optional, `O` an optional string list, `E` an optional of the list's element.

use super::types::{Kind, Ty};

const ROWS: &[(&str, &[&str], char)] = &[
    ("!_", &["b"], 'b'),
    ("-_", &["i"], 'i'),
    ("-_", &["d"], 'd'),
    ("_&&_", &["bb"], 'b'),
    ("_||_", &["bb"], 'b'),
    ("@not_strictly_false", &["b"], 'b'),
    ("@in", &["al", "am"], 'b'),
    ("_<_", &["nn", "ss", "yy", "bb", "tt", "rr"], 'b'),
    ("_<=_", &["nn", "ss", "yy", "bb", "tt", "rr"], 'b'),
    ("_>_", &["nn", "ss", "yy", "bb", "tt", "rr"], 'b'),
    ("_>=_", &["nn", "ss", "yy", "bb", "tt", "rr"], 'b'),
    ("_+_", &["ii"], 'i'),
    ("_+_", &["uu"], 'u'),
    ("_+_", &["dd"], 'd'),
    ("_+_", &["ss"], 's'),
    ("_+_", &["yy"], 'y'),
    ("_+_", &["tr", "rt"], 't'),
    ("_+_", &["rr"], 'r'),
    ("_-_", &["ii"], 'i'),
    ("_-_", &["uu"], 'u'),
    ("_-_", &["dd"], 'd'),
    ("_-_", &["tt", "rr"], 'r'),
    ("_-_", &["tr"], 't'),
    ("_*_", &["ii"], 'i'),
    ("_*_", &["uu"], 'u'),
    ("_*_", &["dd"], 'd'),
    ("_/_", &["ii"], 'i'),
    ("_/_", &["uu"], 'u'),
    ("_/_", &["dd"], 'd'),
    ("_%_", &["ii"], 'i'),
    ("_%_", &["uu"], 'u'),
    ("size", &["s", "y", "l", "m", "s.", "y.", "l.", "m."], 'i'),
    ("contains", &["s.s"], 'b'),
    ("startsWith", &["s.s"], 'b'),
    ("endsWith", &["s.s"], 'b'),
    ("matches", &["s.s", "ss"], 'b'),
    ("int", &["i", "u", "d", "s", "t", "r"], 'i'),
    ("uint", &["u", "i", "d", "s"], 'u'),
    ("double", &["d", "i", "u", "s"], 'd'),
    ("string", &["s", "i", "u", "d", "b", "y", "t", "r", "U", "I", "C", "Q", "V", "I.", "C.", "s."], 's'),
    ("bool", &["b", "s"], 'b'),
    ("bytes", &["y", "s"], 'y'),
    ("timestamp", &["t", "s", "i"], 't'),
    ("duration", &["r", "s", "i"], 'r'),
    ("type", &["a"], 'T'),
    ("dyn", &["a"], 'a'),
    ("getFullYear", &["t.", "t.s"], 'i'),
    ("getMonth", &["t.", "t.s"], 'i'),
    ("getDate", &["t.", "t.s"], 'i'),
    ("getDayOfMonth", &["t.", "t.s"], 'i'),
    ("getDayOfWeek", &["t.", "t.s"], 'i'),
    ("getDayOfYear", &["t.", "t.s"], 'i'),
    ("getHours", &["t.", "t.s", "r."], 'i'),
    ("getMinutes", &["t.", "t.s", "r."], 'i'),
    ("getSeconds", &["t.", "t.s", "r."], 'i'),
    ("getMilliseconds", &["t.", "t.s", "r."], 'i'),
    // Strings.
    ("charAt", &["s.i"], 's'),
    ("indexOf", &["s.s", "s.si", "l.a"], 'i'),
    ("lastIndexOf", &["s.s", "s.si", "l.a"], 'i'),
    ("join", &["S.", "S.s"], 's'),
    ("lowerAscii", &["s."], 's'),
    ("upperAscii", &["s."], 's'),
    ("replace", &["s.ss", "s.ssi"], 's'),
    ("split", &["s.s", "s.si"], 'S'),
    ("substring", &["s.i", "s.ii"], 's'),
    ("trim", &["s."], 's'),
    ("reverse", &["s."], 's'),
    ("reverse", &["l."], 'L'),
    ("format", &["s.l"], 's'),
    ("strings.quote", &["s"], 's'),
    ("find", &["s.s"], 's'),
    ("findAll", &["s.s", "s.si"], 'S'),
    // Lists and sets.
    ("isSorted", &["l."], 'b'),
    ("sum", &["l."], 'e'),
    ("min", &["l."], 'e'),
    ("max", &["l."], 'e'),
    ("distinct", &["l."], 'L'),
    ("sort", &["l."], 'L'),
    ("slice", &["l.ii"], 'L'),
    ("flatten", &["l.", "l.i"], 'L'),
    ("first", &["l."], 'E'),
    ("last", &["l."], 'E'),
    ("sets.contains", &["ll"], 'b'),
    ("sets.equivalent", &["ll"], 'b'),
    ("sets.intersects", &["ll"], 'b'),
    // Optionals.
    ("optional.of", &["a"], 'o'),
    ("optional.ofNonZeroValue", &["a"], 'o'),
    ("optional.none", &[""], 'o'),
    ("hasValue", &["o."], 'b'),
    ("value", &["o."], 'v'),
    ("orValue", &["o.a"], 'v'),
    ("or", &["o.o"], 'o'),
    // URLs, addresses, quantities, versions, formats.
    ("url", &["s"], 'U'),
    ("isURL", &["s"], 'b'),
    ("getScheme", &["U."], 's'),
    ("getHost", &["U."], 's'),
    ("getHostname", &["U."], 's'),
    ("getPort", &["U."], 's'),
    ("getEscapedPath", &["U."], 's'),
    ("getQuery", &["U."], 'q'),
    ("ip", &["s"], 'I'),
    ("ip", &["C."], 'I'),
    ("isIP", &["s"], 'b'),
    ("ip.isCanonical", &["s"], 'b'),
    ("family", &["I."], 'i'),
    ("isUnspecified", &["I."], 'b'),
    ("isLoopback", &["I."], 'b'),
    ("isLinkLocalMulticast", &["I."], 'b'),
    ("isLinkLocalUnicast", &["I."], 'b'),
    ("isGlobalUnicast", &["I."], 'b'),
    ("cidr", &["s"], 'C'),
    ("isCIDR", &["s"], 'b'),
    ("containsIP", &["C.I", "C.s"], 'b'),
    ("containsCIDR", &["C.C", "C.s"], 'b'),
    ("masked", &["C."], 'C'),
    ("prefixLength", &["C."], 'i'),
    ("quantity", &["s"], 'Q'),
    ("isQuantity", &["s"], 'b'),
    ("sign", &["Q."], 'i'),
    ("isInteger", &["Q."], 'b'),
    ("asInteger", &["Q."], 'i'),
    ("asApproximateFloat", &["Q."], 'd'),
    ("add", &["Q.Q", "Q.i"], 'Q'),
    ("sub", &["Q.Q", "Q.i"], 'Q'),
    ("isGreaterThan", &["Q.Q", "V.V"], 'b'),
    ("isLessThan", &["Q.Q", "V.V"], 'b'),
    ("compareTo", &["Q.Q", "V.V"], 'i'),
    ("semver", &["s", "sb"], 'V'),
    ("isSemver", &["s", "sb"], 'b'),
    ("major", &["V."], 'i'),
    ("minor", &["V."], 'i'),
    ("patch", &["V."], 'i'),
    ("format.named", &["s"], 'f'),
    ("format.dns1123Label", &[""], 'F'),
    ("format.dns1123Subdomain", &[""], 'F'),
    ("format.dns1035Label", &[""], 'F'),
    ("format.qualifiedName", &[""], 'F'),
    ("format.dns1123LabelPrefix", &[""], 'F'),
    ("format.dns1123SubdomainPrefix", &[""], 'F'),
    ("format.dns1035LabelPrefix", &[""], 'F'),
    ("format.labelValue", &[""], 'F'),
    ("format.uri", &[""], 'F'),
    ("format.uuid", &[""], 'F'),
    ("format.byte", &[""], 'F'),
    ("format.date", &[""], 'F'),
    ("format.datetime", &[""], 'F'),
    ("validate", &["F.s"], 'O'),
    // Rights, in expressions of admission.
    ("path", &["A.s"], 'P'),
    ("group", &["A.s"], 'G'),
    ("serviceAccount", &["A.ss"], 'A'),
    ("resource", &["G.s"], 'R'),
    ("subresource", &["R.s"], 'R'),
    ("namespace", &["R.s"], 'R'),
    ("name", &["R.s"], 'R'),
    ("fieldSelector", &["R.s"], 'R'),
    ("labelSelector", &["R.s"], 'R'),
    ("check", &["P.s", "R.s"], 'D'),
    ("allowed", &["D."], 'b'),
    ("reason", &["D."], 's'),
    ("errored", &["D."], 'b'),
    ("error", &["D."], 's'),
];

/// Whether there is a function of that name at all.
pub(super) fn known(name: &str) -> bool {
    matches!(name, "_==_" | "_!=_" | "_?_:_" | "_[_]" | "_[?_]" | "_?._")
        || ROWS.iter().any(|row| row.0 == name)
}

/// The result of a call, if any overload takes these arguments.
pub(super) fn result(name: &str, target: Option<&Ty>, args: &[&Ty]) -> Option<Ty> {
    let all: Vec<&Ty> = target.into_iter().chain(args.iter().copied()).collect();
    for (_, signatures, code) in ROWS.iter().filter(|row| row.0 == name) {
        for signature in *signatures {
            let member = signature.as_bytes().get(1) == Some(&b'.');
            let letters: Vec<char> = signature.chars().filter(|c| *c != '.').collect();
            let fits = member == target.is_some()
                && letters.len() == all.len()
                && letters.iter().zip(&all).all(|(letter, ty)| takes(*letter, ty))
                && (!matches!(letters.as_slice(), ['n', 'n']) || numbers(&all));
            if fits {
                return Some(returns(*code, &all));
            }
        }
    }
    // Lists are added when their elements agree.
    match (name, all.as_slice()) {
        ("_+_", [a, b]) if matches!((&a.kind, &b.kind), (Kind::List(_), Kind::List(_))) && a.fits(b) => {
            Some(a.union(b))
        }
        _ => None,
    }
}

fn numbers(all: &[&Ty]) -> bool {
    all.iter().all(|ty| matches!(ty.kind, Kind::Int | Kind::Uint | Kind::Double | Kind::Dyn))
}

fn takes(letter: char, ty: &Ty) -> bool {
    match (letter, &ty.kind) {
        (_, Kind::Dyn) | ('a', _) => true,
        ('s', Kind::String)
        | ('i', Kind::Int)
        | ('u', Kind::Uint)
        | ('d', Kind::Double)
        | ('b', Kind::Bool)
        | ('y', Kind::Bytes)
        | ('t', Kind::Timestamp)
        | ('r', Kind::Duration)
        | ('l', Kind::List(_))
        | ('m', Kind::Map(..))
        | ('T', Kind::Type)
        | ('o', Kind::Optional(_))
        | ('n', Kind::Int | Kind::Uint | Kind::Double) => true,
        ('S', Kind::List(element)) => matches!(element.kind, Kind::String | Kind::Dyn),
        (letter, Kind::Opaque(name)) => opaque(letter) == Some(name),
        _ => false,
    }
}

fn opaque(letter: char) -> Option<&'static str> {
    Some(match letter {
        'U' => "kubernetes.URL",
        'I' => "net.IP",
        'C' => "net.CIDR",
        'Q' => "kubernetes.Quantity",
        'V' => "kubernetes.Semver",
        'F' => "kubernetes.NamedFormat",
        'A' => "kubernetes.authorization.Authorizer",
        'P' => "kubernetes.authorization.PathCheck",
        'G' => "kubernetes.authorization.GroupCheck",
        'R' => "kubernetes.authorization.ResourceCheck",
        'D' => "kubernetes.authorization.Decision",
        _ => return None,
    })
}

fn returns(code: char, all: &[&Ty]) -> Ty {
    let element = || match all.first().map(|ty| &ty.kind) {
        Some(Kind::List(element)) => (**element).clone(),
        _ => Ty::from(Kind::Dyn),
    };
    let list_of = |kind: Kind| Ty::from(Kind::List(Box::new(Ty::from(kind))));
    let optional = |ty: Ty| Ty::from(Kind::Optional(Box::new(ty)));
    match code {
        'b' => Kind::Bool.into(),
        'i' => Kind::Int.into(),
        'u' => Kind::Uint.into(),
        'd' => Kind::Double.into(),
        's' => Kind::String.into(),
        'y' => Kind::Bytes.into(),
        't' => Kind::Timestamp.into(),
        'r' => Kind::Duration.into(),
        'T' => Kind::Type.into(),
        'S' => list_of(Kind::String),
        'q' => Kind::Map(Box::new(Kind::String.into()), Box::new(list_of(Kind::String))).into(),
        'e' => element(),
        'E' => optional(element()),
        'L' => all.first().map_or(Kind::Dyn.into(), |ty| ty.with_max(None)),
        'o' => match all.first() {
            Some(ty) if matches!(ty.kind, Kind::Optional(_)) => (*ty).clone(),
            Some(ty) => optional((*ty).clone()),
            None => optional(Kind::Dyn.into()),
        },
        'v' => match all.first().map(|ty| &ty.kind) {
            Some(Kind::Optional(inner)) => (**inner).clone(),
            _ => Kind::Dyn.into(),
        },
        'O' => optional(list_of(Kind::String)),
        'f' => optional(Kind::Opaque("kubernetes.NamedFormat").into()),
        letter => opaque(letter).map_or(Kind::Dyn.into(), |name| Kind::Opaque(name).into()),
    }
}
