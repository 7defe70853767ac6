//! Leases: of all processes that could write, one does.
//!
//! The record and its timings are those of client-go's leader election, so that a Go operator and we, contending for the
//! same Lease, never write at once: each believes a record for as long as it stood still *on its own clock*, and we stop
//! writing at two thirds of that time. An [`Election`] opens the [`Fence`](crate::Fence) of a system while it holds the
//! lease; the fence, not the election, is what writers ask.

mod election;
mod record;

pub use election::{Election, Standing};
pub use record::Terms;
