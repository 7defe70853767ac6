//! Which models a caller may use, by asking each of them.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream};
use http::HeaderValue;
use tokio::time::Instant;

use super::{
    ListedModel, Model, SubscriptionRef, merge,
    probe::{Probed, Prober, Served},
};
use crate::subscriptions::Subscription;

/// How many models are asked at once.
const AT_ONCE: usize = 10;

/// How access is checked.
#[derive(Clone, Debug)]
pub struct Access {
    /// Who asks.
    pub prober: Prober,
    /// How long all the asking may take. What has not answered by then is left out.
    pub limit: Duration,
}

/// A model, and a subscription it may be used under.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The model.
    pub model: Arc<Model>,
    /// The subscription.
    pub subscription: Arc<Subscription>,
}

/// The models of these subscriptions that let the caller in. Every pair is asked about on its own, all within one
/// time limit.
pub async fn list(
    access: &Access,
    subscriptions: &[Arc<Subscription>],
    models: &[Arc<Model>],
    authorization: &HeaderValue,
) -> Vec<ListedModel> {
    let deadline = Instant::now() + access.limit;
    let checks = candidates(subscriptions, models).into_iter().map(|entry| async move {
        let listed = tokio::time::timeout_at(deadline, check(&access.prober, &entry, authorization)).await;
        listed.unwrap_or_default()
    });
    // In order, so that a model's subscriptions come out by name.
    let found: Vec<Vec<ListedModel>> = stream::iter(checks).buffered(AT_ONCE).collect().await;
    merge(found.into_iter().flatten())
}

/// Each subscription with each of its models; one that names none has them all.
fn candidates(subscriptions: &[Arc<Subscription>], models: &[Arc<Model>]) -> Vec<Entry> {
    let has = |subscription: &Subscription, model: &Model| {
        subscription.model_refs.is_empty()
            || subscription.model_refs.iter().any(|r| r.namespace == model.namespace && r.name == model.name)
    };
    subscriptions
        .iter()
        .flat_map(|subscription| {
            let models = models.iter().filter(|model| has(subscription, model));
            models.map(|model| Entry { model: model.clone(), subscription: subscription.clone() })
        })
        .collect()
}

async fn check(prober: &Prober, entry: &Entry, authorization: &HeaderValue) -> Vec<ListedModel> {
    let model = &entry.model;
    if model.is_external() {
        // It is somebody else's: asking it would cost money and tell nothing about the caller.
        return if model.ready { vec![listed(entry, &Served::default())] } else { vec![] };
    }
    let Some(url) = &model.url else { return vec![] };
    match prober.probe(url, authorization, &entry.subscription.name).await {
        Probed::Denied => vec![],
        Probed::Allowed => vec![listed(entry, &Served::default())],
        Probed::Serves(models) => {
            let named = models.iter().filter(|m| m.id.as_deref().is_some_and(|id| !id.is_empty()));
            named.map(|served| listed(entry, served)).collect()
        }
    }
}

/// The backend says what it serves and since when; everything else is the MaaSModelRef's word.
fn listed(entry: &Entry, served: &Served) -> ListedModel {
    let (model, subscription) = (&entry.model, &entry.subscription);
    ListedModel {
        id: served.id.clone().unwrap_or_else(|| model.name.clone()),
        created: served.created.filter(|created| *created != 0).unwrap_or(model.created),
        object: "model",
        owned_by: model.owned_by(),
        kind: model.kind.clone(),
        url: model.url.clone(),
        ready: model.ready,
        model_details: model.details.clone(),
        subscriptions: vec![SubscriptionRef {
            name: subscription.name.clone(),
            display_name: subscription.display_name.clone(),
            description: subscription.description.clone(),
        }],
    }
}
