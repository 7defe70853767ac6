//! Cost ranges, and what a call costs at most.

use super::analyse::Known;
use super::types::{Kind, Ty};

const STRING: f64 = 0.1;
const REGEX: f64 = 0.25;

/// Least and most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    pub(super) const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

    pub(super) fn new(min: u64, max: u64) -> Self {
        Range { min, max }
    }

    pub(super) fn fixed(amount: u64) -> Self {
        Range { min: amount, max: amount }
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    fn factor(self, factor: f64) -> Range {
        let scale = |amount: u64| {
            let product = (amount as f64 * factor).ceil();
            if product >= u64::MAX as f64 { u64::MAX } else { product as u64 }
        };
        Range { min: scale(self.min), max: scale(self.max) }
    }

    fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// What is known of a call's result, with the cost of making it.
pub(super) fn call(name: &str, ty: Ty, target: Option<&Known>, args: &[Known]) -> Known {
    let first = target.or(args.first()).map_or(Range::fixed(0), Known::sizes);
    let arg = |index: usize| args.get(index).map_or(Range::fixed(0), Known::sizes);
    let all = args.iter().chain(target).fold(Range::fixed(0), |sum, known| sum.add(known.cost));
    let one = Range::fixed(1);
    let mut size = None;
    let own = match name {
        "_||_" | "_&&_" => {
            let (left, right) = (args[0].cost, args[1].cost);
            let cost = Range::new(left.min, left.add(right).max);
            return Known { ty: Kind::Bool.into(), size: None, cost };
        }
        "_?_:_" => {
            let cost = args[0].cost.add(args[1].cost.union(args[2].cost));
            return Known { ty: ty.with_max(None), size: Some(arg(1).union(arg(2))), cost };
        }
        "_[_]" | "_[?_]" | "_?._" => return Known { ty, size: None, cost: all.add(one) },
        "dyn" => return Known { ty, size: args[0].size, cost: all.add(one) },
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" if compares_sizes(name, args) => {
            let most = arg(0).max.min(arg(1).max);
            Range::new(most.min(1), most).factor(STRING)
        }
        "_+_" if matches!(ty.kind, Kind::List(_)) => {
            size = Some(arg(0).add(arg(1)));
            one
        }
        "_+_" if matches!(ty.kind, Kind::String | Kind::Bytes) => {
            size = Some(arg(0).add(arg(1)));
            arg(0).add(arg(1)).factor(STRING)
        }
        "@in" if matches!(args[1].ty.kind, Kind::List(_)) => arg(1),
        "startsWith" | "endsWith" => arg(0).factor(STRING),
        "contains" => first.factor(STRING).times(arg(0).factor(STRING)),
        "matches" | "find" | "findAll" => {
            let pattern = if target.is_some() { arg(0) } else { arg(1) };
            if name != "matches" {
                size = Some(Range::new(0, first.max));
            }
            first.add(one).factor(STRING).times(pattern.factor(REGEX))
        }
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" => match target.map(|t| &t.ty.kind) {
            Some(Kind::List(element)) => {
                let mut each = one;
                if matches!(element.kind, Kind::String | Kind::Bytes) {
                    each = each.add(Range::new(0, element.max.unwrap_or(u64::MAX)).factor(STRING));
                }
                first.times(each)
            }
            _ => first.factor(STRING),
        },
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            size = Some(first);
            first.factor(STRING)
        }
        "replace" => {
            size = Some(replaced(first, arg(0), arg(1)));
            first.factor(2.0 * STRING)
        }
        "split" => {
            size = Some(Range::new(0, first.max));
            first.factor(2.0 * STRING)
        }
        "join" => {
            let element = match target.map(|t| &t.ty.kind) {
                Some(Kind::List(element)) => Range::new(0, element.max.unwrap_or(u64::MAX)),
                _ => Range::UNKNOWN,
            };
            let separators = Range::new(first.min.saturating_sub(1), first.max.saturating_sub(1));
            let joined = first.times(element).add(arg(0).times(separators));
            size = Some(joined);
            joined.factor(STRING)
        }
        "string" | "bytes" | "strings.quote"
            if matches!(args.first().map(|a| &a.ty.kind), Some(Kind::String | Kind::Bytes)) =>
        {
            let from = arg(0);
            size = Some(match name {
                "bytes" => Range::new(from.min, from.max.saturating_mul(4)),
                "strings.quote" => Range::new(from.min + 2, from.max.saturating_mul(2).saturating_add(2)),
                _ => Range::new(from.min / 4, from.max),
            });
            from.factor(STRING)
        }
        "format" => {
            size = Some(first.add(arg(0)));
            first.factor(STRING)
        }
        "reverse" | "distinct" | "sort" | "slice" | "flatten" => {
            size = Some(first);
            first.add(one)
        }
        "url" | "isURL" | "quantity" | "isQuantity" | "semver" | "isSemver" | "ip" | "isIP" | "cidr"
        | "isCIDR" | "validate"
            if args.first().is_some_and(|a| matches!(a.ty.kind, Kind::String | Kind::Dyn)) =>
        {
            arg(0).factor(STRING)
        }
        "sets.contains" | "sets.intersects" => arg(0).times(arg(1)),
        "sets.equivalent" => arg(0).times(arg(1)).times(Range::fixed(2)),
        _ => one,
    };
    Known { ty, size, cost: all.add(own) }
}

/// Equality always, order for strings and bytes.
fn compares_sizes(name: &str, args: &[Known]) -> bool {
    matches!(name, "_==_" | "_!=_")
        || args.iter().any(|a| matches!(a.ty.kind, Kind::String | Kind::Bytes | Kind::Dyn))
}

fn replaced(text: Range, what: Range, with: Range) -> Range {
    let most = if what.min == 0 {
        text.max.saturating_add(1).saturating_mul(with.max).saturating_add(text.max)
    } else if with.max <= what.min {
        text.max
    } else {
        text.max.div_ceil(what.min).saturating_mul(with.max)
    };
    let least = if what.max == 0 {
        text.min.saturating_add(1).saturating_mul(with.min).saturating_add(text.min)
    } else if what.max <= with.min {
        text.min
    } else {
        text.min.div_ceil(what.max).saturating_mul(with.min)
    };
    Range::new(least, most)
}
