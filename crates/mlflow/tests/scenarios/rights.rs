//! What the operator may do, and no scenario had it do.

use quintet_mlflow::Mlflow;
use quintet_stage::rights::judge;

use super::support::config;

#[test]
fn every_right_is_used_by_a_scenario_or_held_for_a_reason() {
    judge(&[Mlflow::new(config(&[]))], &["rights::"]);
}
