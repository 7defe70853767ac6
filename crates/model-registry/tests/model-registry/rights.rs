//! What the operator may do, and no scenario had it do.

use quintet_model_registry::{INSTALLED, ModelRegistryOperator};
use quintet_stage::rights::judge;

use super::support::{config, stage::NAMESPACE};

#[test]
fn every_right_is_used_by_a_scenario_or_held_for_a_reason() {
    // As installed: registries anywhere, the catalog at home, a migration.
    let anywhere = ModelRegistryOperator::new(config(&INSTALLED).at_home(NAMESPACE));
    let in_one_namespace = ModelRegistryOperator::new(config(&[("REGISTRIES_NAMESPACE", NAMESPACE)]));
    judge(&[anywhere, in_one_namespace], &["rights::", "faults::", "rendered::"]);
}
