//! `matchConditions`: expressions that all must hold before a webhook or policy is asked.

use serde::{Deserialize, Deserializer};

use crate::schema::cel::{Expression, Scope, Unanswered};

/// What all conditions of one webhook may cost together.
pub(super) const BUDGET: u64 = 2_500_000;

/// One condition.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct MatchCondition {
    #[serde(deserialize_with = "parsed")]
    expression: Expression,
}

fn parsed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
    Ok(Expression::new(String::deserialize(deserializer)?))
}

/// Whether all hold. One that is false decides even beside others that fail.
pub(super) fn all_hold(conditions: &[MatchCondition], scope: &mut Scope<'_>) -> Result<bool, String> {
    let mut failed = Ok(true);
    for MatchCondition { expression } in conditions {
        match expression.holds(scope) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error @ Unanswered::OutOfBudget) => return Err(error.to_string()),
            Err(error) if failed.is_ok() => failed = Err(error.to_string()),
            Err(_) => {}
        }
    }
    failed
}
