//! Types and worst-case cost of an expression, found in one walk.
//!
//! The cost model is that of the real server: it decides which rules a CRD may have, so its constants and its reading of
//! sizes are kept exactly; the unit is about 50 ns.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::cost::{Range, call};
use super::parse::Parsed;
use super::signatures;
use super::types::{Kind, Ty};

const LIST: u64 = 10;
const MAP: u64 = 30;

/// What is known of one node.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) ty: Ty,
    /// The size, where the expression itself tells it.
    pub(super) size: Option<Range>,
    pub(super) cost: Range,
}

impl Known {
    fn new(ty: Ty, cost: Range) -> Self {
        Known { ty, size: None, cost }
    }

    /// The size: told by the expression, by the schema, by the type, or unknown.
    pub(super) fn sizes(&self) -> Range {
        if let Some(size) = self.size {
            return size;
        }
        match (self.ty.max, &self.ty.kind) {
            (Some(max), _) => Range::new(0, max),
            (None, Kind::String | Kind::Bytes | Kind::List(_) | Kind::Map(..) | Kind::Dyn) => Range::UNKNOWN,
            (None, _) => Range::fixed(1),
        }
    }
}

/// Walks an expression with these variables. The error is the text of all issues found.
pub(super) fn analyse(parsed: &Parsed, variables: &[(&str, Ty)]) -> Result<Known, String> {
    let mut walk = Walk {
        parsed,
        scopes: variables
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), Known::new(ty.clone(), Range::fixed(1))))
            .collect(),
        issues: Vec::new(),
        bound: variables.first().and_then(|(_, ty)| ty.max).unwrap_or(0),
        mixed: false,
    };
    let known = walk.expr(&parsed.root);
    if walk.issues.is_empty() { Ok(known) } else { Err(walk.issues.join("\n")) }
}

struct Walk<'a> {
    parsed: &'a Parsed,
    scopes: Vec<(String, Known)>,
    issues: Vec<String>,
    /// The bound of `self`, which the real estimator also takes for elements of lists the expression makes itself.
    bound: u64,
    /// Inside the arguments of `format`, the one place where list elements may differ in type.
    mixed: bool,
}

impl Walk<'_> {
    fn wrong(&mut self, id: u64, message: &str) -> Known {
        self.issues.push(self.parsed.issue(id, message));
        Known::new(Kind::Dyn.into(), Range::fixed(1))
    }

    fn expr(&mut self, node: &IdedExpr) -> Known {
        match &node.expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => self.ident(node.id, name),
            Expr::Select(select) => self.select(node.id, select),
            Expr::Call(call) => self.call(node.id, call),
            Expr::Comprehension(comprehension) => self.comprehension(node.id, comprehension),
            Expr::List(list) => {
                let elements: Vec<Known> = list.elements.iter().map(|e| self.expr(e)).collect();
                let mut cost = Range::fixed(LIST);
                let mut element: Option<Ty> = None;
                for (known, source) in elements.iter().zip(&list.elements) {
                    cost = cost.add(known.cost);
                    let sized = known.ty.with_max(Some(known.sizes().max));
                    element = Some(match element {
                        None => sized,
                        Some(before) if self.mixed && !before.fits(&sized) => before,
                        Some(before) if !before.fits(&sized) => {
                            let text = format!("expected type '{before}' but found '{sized}'");
                            self.wrong(source.id, &text);
                            before
                        }
                        Some(before) => before.union(&sized),
                    });
                }
                let element = element.unwrap_or_else(|| Ty::from(Kind::Dyn).with_max(Some(0)));
                let mut known = Known::new(Kind::List(Box::new(element)).into(), cost);
                known.size = Some(Range::fixed(elements.len() as u64));
                known
            }
            Expr::Map(map) => {
                let mut cost = Range::fixed(MAP);
                let (mut key, mut value): (Option<Ty>, Option<Ty>) = (None, None);
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    let (k, v) = (self.expr(&entry.key), self.expr(&entry.value));
                    cost = cost.add(k.cost).add(v.cost);
                    key = Some(key.map_or_else(|| k.ty.clone(), |ty| ty.union(&k.ty)));
                    value = Some(value.map_or_else(|| v.ty.clone(), |ty| ty.union(&v.ty)));
                }
                let any = || Ty::from(Kind::Dyn);
                let kind = Kind::Map(Box::new(key.unwrap_or_else(any)), Box::new(value.unwrap_or_else(any)));
                let mut known = Known::new(kind.into(), cost);
                known.size = Some(Range::fixed(map.entries.len() as u64));
                known
            }
            Expr::Struct(made) => {
                let text = format!("undeclared reference to '{}' (in container '')", made.type_name);
                self.wrong(node.id, &text)
            }
            Expr::Unspecified => self.wrong(node.id, "unexpected expression"),
        }
    }

    fn literal(&mut self, literal: &LiteralValue) -> Known {
        let (kind, size) = match literal {
            LiteralValue::Boolean(_) => (Kind::Bool, 1),
            LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len() as u64),
            LiteralValue::Double(_) => (Kind::Double, 1),
            LiteralValue::Int(_) => (Kind::Int, 1),
            LiteralValue::Null => (Kind::Null, 1),
            LiteralValue::String(text) => (Kind::String, text.inner().chars().count() as u64),
            LiteralValue::UInt(_) => (Kind::Uint, 1),
        };
        Known { ty: kind.into(), size: Some(Range::fixed(size)), cost: Range::fixed(0) }
    }

    fn ident(&mut self, id: u64, name: &str) -> Known {
        if let Some((_, known)) = self.scopes.iter().rev().find(|(other, _)| other == name) {
            return Known { cost: Range::fixed(1), ..known.clone() };
        }
        match name {
            "int" | "uint" | "double" | "string" | "bool" | "bytes" | "list" | "map" | "null_type"
            | "type" => Known::new(Kind::Type.into(), Range::fixed(1)),
            _ => self.wrong(id, &format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    /// `google.protobuf.Timestamp` and the like are names of types.
    fn type_name(&self, node: &SelectExpr) -> bool {
        let Expr::Select(outer) = &node.operand.expr else { return false };
        matches!(&outer.operand.expr, Expr::Ident(name) if name == "google")
            && outer.field == "protobuf"
            && matches!(node.field.as_str(), "Timestamp" | "Duration")
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Known {
        if self.type_name(select) {
            return Known::new(Kind::Type.into(), Range::fixed(1));
        }
        let operand = self.expr(&select.operand);
        let (container, optional) = match &operand.ty.kind {
            Kind::Optional(inner) => ((**inner).clone(), true),
            _ => (operand.ty.clone(), false),
        };
        let field = match &container.kind {
            Kind::Object(fields) => fields.0.get(&select.field).cloned(),
            Kind::Map(_, value) => Some((**value).clone()),
            Kind::Dyn => Some(Kind::Dyn.into()),
            Kind::Opaque("kubernetes.authorization.Authorizer") if select.field == "requestResource" => {
                Some(Kind::Opaque("kubernetes.authorization.ResourceCheck").into())
            }
            _ => {
                let text = format!("type '{container}' does not support field selection");
                return self.wrong(id, &text);
            }
        };
        let Some(field) = field else {
            return self.wrong(id, &format!("undefined field '{}'", select.field));
        };
        let cost = operand.cost.add(Range::fixed(1));
        if select.test {
            return Known::new(Kind::Bool.into(), cost);
        }
        let costs_a_step = matches!(container.kind, Kind::Map(..) | Kind::Object(_));
        let ty = if optional { Kind::Optional(Box::new(field)).into() } else { field };
        Known::new(ty, if costs_a_step { cost } else { operand.cost })
    }

    fn call(&mut self, id: u64, call_expr: &CallExpr) -> Known {
        let (name, target) = match namespaced(call_expr) {
            Some(name) if signatures::known(&name) => (name, None),
            _ => (call_expr.func_name.clone(), call_expr.target.as_deref()),
        };
        let target = target.map(|target| self.expr(target));
        let outside = std::mem::replace(&mut self.mixed, name == "format");
        let args: Vec<Known> = match name.as_str() {
            // The field of an optional selection is a name, not an argument.
            "_?._" => call_expr.args.iter().take(1).map(|arg| self.expr(arg)).collect(),
            _ => call_expr.args.iter().map(|arg| self.expr(arg)).collect(),
        };
        self.mixed = outside;
        if !signatures::known(&name) {
            return self.wrong(id, &format!("undeclared reference to '{name}' (in container '')"));
        }
        let types: Vec<&Ty> = args.iter().map(|arg| &arg.ty).collect();
        let Some(ty) = self.result(&name, call_expr, target.as_ref().map(|t| &t.ty), &types) else {
            let shown: Vec<String> = types.iter().map(ToString::to_string).collect();
            let shown = match &target {
                Some(target) => format!("{}.({})", target.ty, shown.join(", ")),
                None => format!("({})", shown.join(", ")),
            };
            return self.wrong(id, &format!("found no matching overload for '{name}' applied to '{shown}'"));
        };
        call(&name, ty, target.as_ref(), &args)
    }

    fn result(&mut self, name: &str, node: &CallExpr, target: Option<&Ty>, args: &[&Ty]) -> Option<Ty> {
        match (name, args) {
            ("_==_" | "_!=_", [a, b]) => (a.fits(b) || b.fits(a)).then(|| Kind::Bool.into()),
            ("_?_:_", [condition, a, b]) => {
                (matches!(condition.kind, Kind::Bool | Kind::Dyn) && a.fits(b)).then(|| a.union(b))
            }
            ("_[_]" | "_[?_]", [container, index]) => {
                let inner = match &container.kind {
                    Kind::Optional(inner) => &inner.kind,
                    kind => kind,
                };
                let element = match inner {
                    Kind::List(element)
                        if matches!(index.kind, Kind::Int | Kind::Uint | Kind::Double | Kind::Dyn) =>
                    {
                        (**element).clone()
                    }
                    Kind::Map(key, value) if key.fits(index) => (**value).clone(),
                    Kind::Dyn => Kind::Dyn.into(),
                    _ => return None,
                };
                let made = container.max.is_none().then_some(self.bound);
                let element = element.with_max(made.or(element.max));
                let optional = name == "_[?_]" || matches!(container.kind, Kind::Optional(_));
                Some(if optional { Kind::Optional(Box::new(element)).into() } else { element })
            }
            ("_?._", [container]) => {
                let field = match node.args.get(1).map(|arg| &arg.expr) {
                    Some(Expr::Literal(LiteralValue::String(name))) => name.inner().to_owned(),
                    _ => return None,
                };
                let inner = match &container.kind {
                    Kind::Optional(inner) => &inner.kind,
                    kind => kind,
                };
                let element = match inner {
                    Kind::Object(fields) => fields.0.get(&field)?.clone(),
                    Kind::Map(_, value) => (**value).clone(),
                    Kind::Dyn => Kind::Dyn.into(),
                    _ => return None,
                };
                Some(Kind::Optional(Box::new(element)).into())
            }
            _ => signatures::result(name, target, args),
        }
    }

    fn comprehension(&mut self, id: u64, node: &ComprehensionExpr) -> Known {
        let range = self.expr(&node.iter_range);
        let (key, value) = match &range.ty.kind {
            Kind::List(element) => (Ty::from(Kind::Int), (**element).clone()),
            Kind::Map(key, value) => ((**key).clone(), (**value).clone()),
            Kind::Dyn => (Kind::Dyn.into(), Kind::Dyn.into()),
            other => {
                let text = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                    Ty::from(other.clone())
                );
                return self.wrong(id, &text);
            }
        };
        let made = range.ty.max.is_none().then_some(self.bound);
        let (key, value) = (key.with_max(made.or(key.max)), value.with_max(made.or(value.max)));
        let first = match (&range.ty.kind, &node.iter_var2) {
            (Kind::List(_), None) => value.clone(),
            _ => key,
        };
        let init = self.expr(&node.accu_init);
        let depth = self.scopes.len();
        let variable = |ty: Ty| Known::new(ty, Range::fixed(1));
        self.scopes.push((node.accu_var.clone(), Known { cost: Range::fixed(1), ..init.clone() }));
        self.scopes.push((node.iter_var.clone(), variable(first)));
        if let Some(second) = &node.iter_var2 {
            self.scopes.push((second.clone(), variable(value)));
        }
        let condition = self.expr(&node.loop_cond);
        let step = self.expr(&node.loop_step);
        // What the accumulator becomes is seen by the result.
        self.scopes.truncate(depth);
        let mut accumulated = Known { cost: Range::fixed(1), ..init.clone() };
        accumulated.ty = step.ty.union(&init.ty);
        self.scopes.push((node.accu_var.clone(), accumulated));
        let result = self.expr(&node.result);
        self.scopes.truncate(depth);
        let rounds = range.sizes();
        let cost =
            range.cost.add(init.cost).add(result.cost).add(rounds.times(step.cost.add(condition.cost)));
        let size = match &node.accu_init.expr {
            Expr::Literal(_) => Some(init.sizes()),
            Expr::List(_) | Expr::Map(_) => Some(rounds),
            _ => None,
        };
        Known { ty: result.ty.with_max(None), size, cost }
    }
}

/// `ip.isCanonical(x)` parses as a member call on `ip`: the name with its namespace.
pub(super) fn namespaced(call: &CallExpr) -> Option<String> {
    match &call.target.as_ref()?.expr {
        Expr::Ident(space) => Some(format!("{space}.{}", call.func_name)),
        _ => None,
    }
}
