//! maas-api from outside: through its stores, its HTTP service, and whole.
//!
//! Tests that need PostgreSQL or schemathesis say so where these are missing, and fail there with `CI=true`.

mod cluster;
mod common;
mod definitions;
mod http;
mod migrations;
mod models;
mod replicas;
mod scenarios;
mod schemathesis;
mod serving;
mod stores;
