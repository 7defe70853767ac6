//! One kustomize base per shape and platform. Images are changed as with any base; the namespace is also in arguments and
//! host names, which no transformer reaches.

use super::{Files, NAMESPACE};
use crate::commands::install::{Args, IMAGE, Shape, objects};
use crate::local::standins::Platform;
use crate::output::{Format, documents};
use anyhow::Result;

const KUSTOMIZATION: &str = "\
# Made by `quintet install`; do not edit. Use it as a base, with `images` and patches of your own. For another namespace
# make your own: `quintet install --namespace NAME > manifests.yaml`.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- manifests.yaml
";

pub(super) fn files() -> Result<Files> {
    let mut files = Files::new();
    for (shape, shape_name) in [(Shape::Fused, "fused"), (Shape::Split, "split")] {
        for (platform, platform_name) in
            [(Platform::Kubernetes, "kubernetes"), (Platform::Openshift, "openshift")]
        {
            let args = Args {
                shape,
                platform,
                operators: vec![],
                namespace: NAMESPACE.into(),
                image: IMAGE.into(),
                webhook_url: None,
                rbac: false,
                delete: false,
                output: Format::Yaml,
            };
            let folder = format!("kustomize/{shape_name}-{platform_name}");
            files.insert(format!("{folder}/manifests.yaml"), documents(&objects(&args)?, args.output)?);
            files.insert(format!("{folder}/kustomization.yaml"), KUSTOMIZATION.into());
        }
    }
    Ok(files)
}
