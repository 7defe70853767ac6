//! The system as the command line knows it: its rows, its definitions, what it makes of a resource, how it starts.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::{
    api::core::v1::Service, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::DynamicObject;
use quintet_api::mlflow::{MLflow, MLflowConfig, MLflowSpec};
use quintet_kit::{
    Context, Desired, Kind, ObjectKey, System,
    config::environment_row,
    install::{Operator, Site},
    run::{Fatal, Observed, RenderError, Started},
    wiring::{LeaseRow, Origin, ServiceRow, SystemRows},
};

use crate::{
    Config, Inputs,
    config::VARIABLES,
    install,
    mlflow::{Error, controller, desired::desired, wiring},
};

/// Services of the development backends, as `examples/mlflow/dev-backends` has them.
const DEV_BACKENDS: [&str; 3] = [
    include_str!("../../../examples/mlflow/dev-backends/postgres.yaml"),
    include_str!("../../../examples/mlflow/dev-backends/seaweedfs.yaml"),
    include_str!("../../../examples/mlflow/dev-backends/tls/minio-service.yaml"),
];

/// The MLflow operator.
#[derive(Clone, Debug)]
pub struct Mlflow {
    config: Config,
}

impl Mlflow {
    /// The operator with these settings.
    pub fn new(config: Config) -> Self {
        Mlflow { config }
    }

    /// The server's own Service and those of the development backends.
    fn services(&self) -> Vec<ServiceRow> {
        let nothing = MLflow::new("mlflow", MLflowSpec::default());
        let made = desired(&nothing, &self.config, &Inputs::default()).unwrap_or_default();
        let made = made.all::<Service>().flat_map(|service| ServiceRow::of(service, Origin::Controller));
        made.chain(dev_services()).collect()
    }
}

impl System for Mlflow {
    fn name(&self) -> &'static str {
        "mlflow"
    }

    fn rows(&self) -> SystemRows {
        SystemRows {
            system: self.name().into(),
            controllers: vec![wiring(&self.config).rows().clone()],
            services: self.services(),
            crds: vec![MLflowConfig::gvk(), MLflow::gvk()],
            config: vec![environment_row(&VARIABLES)],
            lease: Some(LeaseRow::new(install::LEASE, Duration::from_secs(60), Duration::from_secs(15))),
            ..SystemRows::default()
        }
    }

    fn crds(&self) -> Vec<CustomResourceDefinition> {
        quintet_api::mlflow::crds()
    }

    fn install(&self, site: &Site) -> Option<Operator> {
        Some(install::operator(site, &self.config))
    }

    fn render(&self, object: &DynamicObject, observed: &Observed) -> Result<Desired, RenderError> {
        let kind = object.types.as_ref().map(|types| types.kind.as_str()).unwrap_or_default();
        if kind != MLflow::gvk().kind {
            return Err(RenderError::NotOurs(kind.into()));
        }
        let mlflow: MLflow = RenderError::parse(object)?;
        let refused = |error: Error| RenderError::Refused {
            kind: kind.into(),
            key: ObjectKey::of(&mlflow),
            message: error.to_string(),
        };
        let inputs = Inputs::observed(&mlflow, &self.config, observed).map_err(refused)?;
        desired(&mlflow, &self.config, &inputs).map_err(|error| refused(error.into()))
    }

    fn start(&self, context: Context) -> BoxFuture<'_, Result<Started, Fatal>> {
        let controller = controller(&context, self.config.clone());
        async { Ok(Started::new().controller(controller)) }.boxed()
    }
}

fn dev_services() -> impl Iterator<Item = ServiceRow> {
    let documents = DEV_BACKENDS.into_iter().flat_map(|text| {
        serde_saphyr::from_multiple::<DynamicObject>(text).expect("examples are tested to be readable")
    });
    let services = documents.filter_map(|object| object.try_parse::<Service>().ok());
    services.flat_map(|service| ServiceRow::of(&service, Origin::Example))
}
