//! Kinds that other projects define. Each has only the fields that we write or read, so none of these is a definition
//! to install.

pub mod console;
pub mod gateway;
pub mod monitoring;
pub mod openshift;
pub mod platform;
pub mod storage_migration;
