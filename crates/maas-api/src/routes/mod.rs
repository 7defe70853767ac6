//! The routes, a file per family. [`TABLE`] is all of them.

pub mod health;
pub mod keys;
pub mod models;
pub mod search;
pub mod select;
pub mod subscriptions;
pub mod validate;

/// Every route: method and path. What needs an identity starts with `/v1/`.
pub const TABLE: [(&str, &str); 15] = [
    ("GET", "/health"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/models"),
    ("GET", "/v1/subscriptions"),
    ("GET", "/v1/model/{model_id}/subscriptions"),
    ("POST", "/v1/api-keys"),
    ("POST", "/v1/api-keys/search"),
    ("POST", "/v1/api-keys/bulk-revoke"),
    ("GET", "/v1/api-keys/{id}"),
    ("DELETE", "/v1/api-keys/{id}"),
    ("POST", "/internal/v1/api-keys/validate"),
    ("POST", "/internal/v1/api-keys/cleanup"),
    ("POST", "/internal/v1/subscriptions/select"),
];
