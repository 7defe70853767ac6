//! Models-as-a-Service's HTTP service: API keys, subscriptions, model listing.
//!
//! The gateway calls it on every inference request to validate the caller's key and to choose the subscription the
//! request runs under; users call it, through the gateway, to manage keys and to see what they may use. It trusts the
//! identity headers that the gateway sets and authenticates nobody itself.

pub mod clock;
pub mod keys;
pub mod store;
pub mod subscriptions;
