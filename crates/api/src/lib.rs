//! The API types of Quintet's five systems, one module per group.

pub mod maas;
