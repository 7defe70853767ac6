//! The webhooks as they are served: one path for both versions of a registry, each handled as it was sent.

use quintet_api::model_registry::{ModelRegistry, convert::to_v1beta1, v1alpha1};
use quintet_kit::{
    Hubs, Kind,
    install::HookNames,
    webhook::{Allowed, Asked, Denied, Operation, Verdict, Webhooks},
};

use super::{
    CONVERT, MUTATE, VALIDATE, convert, default_spec, default_v1alpha1, default_v1beta1, validate_create,
    validate_update,
};
use crate::{Config, install::PREFIX};

/// The webhooks of an operator with these settings. The registries there are come from the caches.
pub(crate) fn serve(config: &Config, hubs: &Hubs) -> Webhooks {
    let judge = Judge { config: config.clone(), hubs: hubs.clone() };
    let (old_judge, config, old_config) = (judge.clone(), config.clone(), config.clone());
    Webhooks::new()
        .mutating(MUTATE, move |asked: &mut Asked<ModelRegistry>| {
            default_v1beta1(&mut asked.object, &config);
            Ok(())
        })
        .mutating(MUTATE, move |asked: &mut Asked<v1alpha1::ModelRegistry>| {
            default_v1alpha1(&mut asked.object, &old_config);
            Ok(())
        })
        .validating(VALIDATE, move |asked: &Asked<ModelRegistry>| {
            judge.verdict(asked.operation, &asked.object)
        })
        .validating(VALIDATE, move |asked: &Asked<v1alpha1::ModelRegistry>| {
            // The controller will make the same of it.
            let mut registry = to_v1beta1(&asked.object);
            default_spec(&mut registry.spec);
            old_judge.verdict(asked.operation, &registry)
        })
        .converting(CONVERT, &ModelRegistry::gvk().group, convert)
        .installed_as(HookNames::of(PREFIX), [ModelRegistry::gvk().crd_name()])
}

/// Says what may be stored.
#[derive(Clone)]
struct Judge {
    config: Config,
    hubs: Hubs,
}

impl Judge {
    fn verdict(&self, operation: Operation, registry: &ModelRegistry) -> Verdict {
        let judged = match operation {
            Operation::Create => {
                // Without the others, a name that is taken would be let in.
                if self.hubs.serves::<ModelRegistry>() != Some(true) {
                    let told = "the registries of this cluster are not known yet: try again in a moment";
                    return Err(Denied::not_yet(told));
                }
                let others = self.hubs.all::<ModelRegistry>();
                validate_create(registry, &self.config, &others.iter().map(|other| &**other).collect())
            }
            Operation::Update => validate_update(registry, &self.config),
            Operation::Delete | Operation::Connect => Ok(()),
        };
        judged.map(|()| Allowed::silently()).map_err(|invalid| Denied::new(invalid.to_string()))
    }
}
