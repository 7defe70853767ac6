//! Parts of children that more than one system builds: written once, so that pods are secured, resources merged and
//! selectors spelled alike everywhere. All are pure functions from plain data to API types.

pub mod ca_bundle;
pub mod env;
pub mod meta;
pub mod quantity;
pub mod resources;
pub mod route;
pub mod security;
pub mod selector;
pub mod volume;
