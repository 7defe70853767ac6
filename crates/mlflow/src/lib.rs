//! The MLflow operator.
