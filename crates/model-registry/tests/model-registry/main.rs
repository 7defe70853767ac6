//! The operator's tests: objects against the specification's cases, then its acceptance scenarios (one test each, named
//! after its number) and what follows from its rules, through the API and under just the rights that follow from the
//! wiring.
//!
//! Scenarios run on a plane in this process and, with `QUINTET_SCENARIOS=real` (`hack/tiers/model-registry`), on a real
//! control plane. After every step what was applied is compared with what `quintet render` gives.
//!
//! | file | about |
//! |---|---|
//! | `rendered.rs` | the specification's worked cases, field by field |
//! | `objects.rs` | what a registry becomes on any cluster |
//! | `database.rs` | databases: those that the operator runs, and those of others |
//! | `proxy.rs` | the proxy before a server |
//! | `openshift.rs` | what OpenShift adds, and APIs that a cluster may lack |
//! | `status.rs` | what is said about a registry |
//! | `others.rs` | what other people and programs do to the objects |
//! | `takeover.rs` | objects that the original wrote |
//! | `lifetime.rs` | how a registry begins and ends, and where it may be |
//! | `admission.rs` | what the definition fills in and refuses |
//! | `catalog.rs` | the model catalog |
//! | `migration.rs` | stored registries move to the storage version |
//! | `rights.rs` | what the operator may do, and none of the others had it do |
//! | `paused/` | what needs a test to say what time it is, or what a controller found: on the plane only |
//! | `faults.rs` | whatever goes wrong, the end is the same: on the plane only |

mod admission;
mod catalog;
mod database;
mod faults;
mod lifetime;
mod migration;
mod objects;
mod openshift;
mod others;
mod paused;
mod proxy;
mod rendered;
mod rights;
mod status;
mod support;
mod takeover;
