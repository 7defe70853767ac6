//! `matchConditions`: expressions that all must hold before a webhook or policy is asked.

use serde::{Deserialize, Deserializer};

use super::expression::{Expression, Variables};

/// One condition.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct MatchCondition {
    #[serde(deserialize_with = "compiled")]
    expression: Expression,
}

fn compiled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
    Ok(Expression::new(String::deserialize(deserializer)?))
}

/// Whether all hold. One that is false decides even beside others that fail.
pub(super) fn all_hold(conditions: &[MatchCondition], variables: &Variables<'_>) -> Result<bool, String> {
    let mut failed = Ok(true);
    for MatchCondition { expression } in conditions {
        match expression.holds(variables) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) if failed.is_ok() => {
                failed = Err(format!("expression '{}' resulted in error: {error}", expression.text));
            }
            Err(_) => {}
        }
    }
    failed
}
