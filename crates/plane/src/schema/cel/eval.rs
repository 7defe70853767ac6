//! Evaluation, with a meter that stops what costs too much.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::analyse::namespaced;
use super::functions;
use super::signatures;
use super::value::Val;

/// Why there is no value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Failure {
    /// The expression failed, in words.
    Error(String),
    /// It cost more than it may.
    TooCostly,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Error(text)
    }
}

type Result<T> = std::result::Result<T, Failure>;

/// Evaluates `root` with these variables; returns the value and what it cost.
pub(super) fn evaluate<'a>(
    root: &IdedExpr,
    variables: Vec<(String, Val<'a>)>,
    limit: u64,
) -> (std::result::Result<Val<'a>, Failure>, u64) {
    let mut machine = Machine { scopes: variables, spent: 0, limit };
    let value = machine.expr(root);
    (value, machine.spent)
}

struct Machine<'a> {
    scopes: Vec<(String, Val<'a>)>,
    spent: u64,
    limit: u64,
}

fn fail<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure::Error(text.into()))
}

fn no_overload<T>() -> Result<T> {
    fail("no such overload")
}

impl<'a> Machine<'a> {
    fn spend(&mut self, amount: u64) -> Result<()> {
        self.spent = self.spent.saturating_add(amount);
        if self.spent > self.limit { Err(Failure::TooCostly) } else { Ok(()) }
    }

    fn expr(&mut self, node: &IdedExpr) -> Result<Val<'a>> {
        match &node.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => {
                self.spend(1)?;
                match self.scopes.iter().rev().find(|(other, _)| other == name) {
                    Some((_, value)) => Ok(value.clone()),
                    None => Ok(Val::Type(name.as_str().into())),
                }
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) => {
                self.spend(10)?;
                let mut out = Vec::with_capacity(list.elements.len());
                for (index, element) in list.elements.iter().enumerate() {
                    match (self.expr(element)?, list.optional_indices.contains(&index)) {
                        (Val::Optional(inner), true) => out.extend(inner.map(|v| (*v).clone())),
                        (value, _) => out.push(value),
                    }
                }
                Ok(Val::List(Rc::new(out)))
            }
            Expr::Map(map) => {
                self.spend(30)?;
                let mut out = BTreeMap::new();
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { continue };
                    let key = match self.expr(&entry.key)? {
                        Val::Text(text) => text.to_string(),
                        other => functions::show(&other),
                    };
                    match (self.expr(&entry.value)?, entry.optional) {
                        (Val::Optional(None), true) => {}
                        (Val::Optional(Some(inner)), true) => drop(out.insert(key, (*inner).clone())),
                        (value, _) => drop(out.insert(key, value)),
                    }
                }
                Ok(Val::Map(Rc::new(out)))
            }
            Expr::Struct(_) | Expr::Unspecified => fail("unsupported expression"),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Val<'a>> {
        if let Expr::Select(outer) = &select.operand.expr
            && matches!(&outer.operand.expr, Expr::Ident(name) if name == "google")
        {
            return Ok(Val::Type(format!("google.protobuf.{}", select.field).into()));
        }
        let operand = self.expr(&select.operand)?;
        self.spend(1)?;
        match operand {
            Val::Optional(inner) => {
                let found = inner.as_deref().and_then(|inner| inner.field(&select.field)).transpose()?;
                if select.test {
                    return Ok(Val::Bool(found.is_some()));
                }
                Ok(Val::Optional(found.map(Rc::new)))
            }
            operand => match operand.field(&select.field) {
                found if select.test => Ok(Val::Bool(found.is_some())),
                Some(found) => Ok(found?),
                None => fail(format!("no such key: {}", super::escape::unescape(&select.field))),
            },
        }
    }

    fn truth(&mut self, node: &IdedExpr) -> Result<bool> {
        match self.expr(node)? {
            Val::Bool(b) => Ok(b),
            _ => no_overload(),
        }
    }

    fn call(&mut self, call: &CallExpr) -> Result<Val<'a>> {
        let args = &call.args;
        match (call.func_name.as_str(), args.as_slice()) {
            ("_&&_", [left, right]) => return self.both(left, right, false),
            ("_||_", [left, right]) => return self.both(left, right, true),
            ("_?_:_", [condition, yes, no]) => {
                return if self.truth(condition)? { self.expr(yes) } else { self.expr(no) };
            }
            ("@not_strictly_false", [arg]) => {
                let value = match self.expr(arg) {
                    Err(Failure::TooCostly) => return Err(Failure::TooCostly),
                    other => other,
                };
                self.spend(1)?;
                return Ok(Val::Bool(!matches!(value, Ok(Val::Bool(false)))));
            }
            ("_?._", [operand, field]) => {
                let operand = match self.expr(operand)? {
                    Val::Optional(None) => return Ok(Val::Optional(None)),
                    Val::Optional(Some(inner)) => (*inner).clone(),
                    other => other,
                };
                self.spend(1)?;
                let Expr::Literal(LiteralValue::String(name)) = &field.expr else { return no_overload() };
                return Ok(Val::Optional(operand.field(name.inner()).transpose()?.map(Rc::new)));
            }
            _ => {}
        }
        let (name, target) = match namespaced(call) {
            Some(name) if signatures::known(&name) => (name, None),
            _ => (call.func_name.clone(), call.target.as_deref()),
        };
        let mut values = Vec::with_capacity(args.len() + 1);
        if let Some(target) = target {
            values.push(self.expr(target)?);
        }
        for arg in args {
            values.push(self.expr(arg)?);
        }
        self.spend(functions::cost(&name, &values))?;
        Ok(functions::call(&name, target.is_some(), &values)?)
    }

    /// `&&` and `||`: an error on one side does not matter when the other side decides.
    fn both(&mut self, left: &IdedExpr, right: &IdedExpr, decisive: bool) -> Result<Val<'a>> {
        let first = self.truth(left);
        match first {
            Err(Failure::TooCostly) => return Err(Failure::TooCostly),
            Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
            _ => {}
        }
        match (first, self.truth(right)) {
            (_, Err(Failure::TooCostly)) => Err(Failure::TooCostly),
            (_, Ok(value)) if value == decisive => Ok(Val::Bool(decisive)),
            (Ok(_), Ok(_)) => Ok(Val::Bool(!decisive)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    fn comprehension(&mut self, node: &ComprehensionExpr) -> Result<Val<'a>> {
        let range = self.expr(&node.iter_range)?;
        let rounds: Vec<(Val<'a>, Option<Val<'a>>)> = if let Some(elements) = range.elements() {
            let elements = elements?;
            match node.iter_var2 {
                Some(_) => {
                    elements.into_iter().enumerate().map(|(i, v)| (Val::Int(i as i64), Some(v))).collect()
                }
                None => elements.into_iter().map(|v| (v, None)).collect(),
            }
        } else if let Some(keys) = range.keys() {
            let mut rounds = Vec::with_capacity(keys.len());
            for key in keys {
                let value = match node.iter_var2 {
                    Some(_) => range.field(&key).transpose()?,
                    None => None,
                };
                rounds.push((Val::text(key), value));
            }
            rounds
        } else {
            return no_overload();
        };
        let depth = self.scopes.len();
        let init = self.expr(&node.accu_init)?;
        let outcome = self.rounds(node, rounds, init);
        self.scopes.truncate(depth);
        let accumulated = outcome?;
        self.scopes.push((node.accu_var.clone(), accumulated));
        let result = self.expr(&node.result);
        self.scopes.truncate(depth);
        result
    }

    fn rounds(
        &mut self,
        node: &ComprehensionExpr,
        rounds: Vec<(Val<'a>, Option<Val<'a>>)>,
        init: Val<'a>,
    ) -> Result<Val<'a>> {
        let accumulator = self.scopes.len();
        self.scopes.push((node.accu_var.clone(), init));
        for (first, second) in rounds {
            self.scopes.truncate(accumulator + 1);
            self.scopes.push((node.iter_var.clone(), first));
            if let (Some(name), Some(value)) = (&node.iter_var2, second) {
                self.scopes.push((name.clone(), value));
            }
            if !self.truth(&node.loop_cond)? {
                break;
            }
            // Appending to the accumulator is done in place: `map` and `filter` would be quadratic otherwise.
            match self.appended(&node.accu_var, &node.loop_step)? {
                Step::Append(values) => {
                    if let Val::List(list) = &mut self.scopes[accumulator].1 {
                        Rc::make_mut(list).extend(values);
                    }
                }
                Step::Keep => {}
                Step::Other => {
                    let next = self.expr(&node.loop_step)?;
                    self.scopes[accumulator].1 = next;
                }
            }
        }
        Ok(self.scopes.swap_remove(accumulator).1)
    }

    fn appended(&mut self, accumulator: &str, step: &IdedExpr) -> Result<Step<'a>> {
        let is_accumulator = |node: &IdedExpr| matches!(&node.expr, Expr::Ident(name) if name == accumulator);
        let Expr::Call(call) = &step.expr else { return Ok(Step::Other) };
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_+_", [left, right]) if is_accumulator(left) && matches!(right.expr, Expr::List(_)) => {
                let Val::List(values) = self.expr(right)? else { return Ok(Step::Other) };
                self.spend(2)?;
                Ok(Step::Append(values.to_vec()))
            }
            ("_?_:_", [condition, yes, no]) if is_accumulator(no) => {
                let inner = matches!(&yes.expr, Expr::Call(call) if call.func_name == "_+_");
                if !inner {
                    return Ok(Step::Other);
                }
                if self.truth(condition)? { self.appended(accumulator, yes) } else { Ok(Step::Keep) }
            }
            _ => Ok(Step::Other),
        }
    }
}

enum Step<'a> {
    Append(Vec<Val<'a>>),
    Keep,
    Other,
}

fn constant<'a>(literal: &LiteralValue) -> Val<'a> {
    match literal {
        LiteralValue::Boolean(b) => Val::Bool(*b.inner()),
        LiteralValue::Bytes(bytes) => Val::Bytes(bytes.inner().into()),
        LiteralValue::Double(d) => Val::Double(*d.inner()),
        LiteralValue::Int(i) => Val::Int(*i.inner()),
        LiteralValue::Null => Val::Null,
        LiteralValue::String(text) => Val::text(text.inner()),
        LiteralValue::UInt(u) => Val::Uint(*u.inner()),
    }
}
