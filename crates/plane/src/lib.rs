//! A Kubernetes API in one process, for local use and for tests.
