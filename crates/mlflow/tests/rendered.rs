//! The four worked cases of the specification: every object equals the original's, field by field. The only text that
//! is ours are the two shell programs.

mod support;

use quintet_api::mlflow::MLflow;
use quintet_mlflow::{Apis, Config, Inputs};
use support::{Objects, UID, case, children, config, difference, openshift};

fn resource(name: &str) -> MLflow {
    let mut mlflow: MLflow = serde_json::from_value(case::resource(name)).expect("an MLflow");
    mlflow.metadata.uid = Some(UID.into());
    mlflow
}

fn expected(name: &str) -> Objects {
    case::objects(name, UID)
}

fn assert_case(case: &str, config: &Config, inputs: &Inputs) {
    let built = children(&resource(case), config, inputs).expect("it can be built");
    let expected = expected(case);
    assert_eq!(difference(&expected, &built), "", "{case}");
}

#[test]
fn scenario_01_the_base_resource_gives_the_six_objects_of_case_1() {
    assert_case("minimal", &config(&[]), &Inputs::default());
    assert_eq!(expected("minimal").len(), 6);
}

#[test]
fn scenario_02_local_storage_gives_the_objects_of_case_2() {
    let apis = Apis { service_monitor: true, ..Apis::default() };
    assert_case("local-sqlite", &config(&[]), &Inputs { apis, ..Inputs::default() });
}

#[test]
fn scenario_03_remote_stores_on_openshift_give_the_objects_of_case_3() {
    assert_case("remote-openshift", &config(&[("MLFLOW_URL", "https://gateway.example.com")]), &openshift());
}

#[test]
fn scenario_04_every_option_gives_the_objects_of_case_4() {
    let inputs = Inputs { platform_ca: true, ..openshift() };
    assert_case(
        "every-option-openshift",
        &config(&[("MLFLOW_URL", "https://gateway.example.com:9443/base")]),
        &inputs,
    );
}
