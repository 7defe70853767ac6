//! CustomResourceDefinitions: their defaults and their checks.
