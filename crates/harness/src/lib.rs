//! Real servers for tests: a Kubernetes control plane, PostgreSQL, Envoy.
