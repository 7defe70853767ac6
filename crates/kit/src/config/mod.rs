//! Typed configuration from the environment, under the names that existing deployments use.
//!
//! A system declares its [`Variable`]s in a table and reads each once, into a struct of its own. For a system `ab-cd` the
//! variable `QUINTET_AB_CD_NAME` wins over the bare `NAME`. A `QUINTET_AB_CD_…` that no table knows is refused, with the
//! name that was probably meant. A bare name that two enabled systems read with different meanings is refused too: the
//! error says what to set instead. All errors are found at once.

mod check;
mod differences;
mod reader;
mod variable;

pub use check::{check, environment_row};
pub use differences::{Difference, DifferenceError, Differences};
pub use reader::{ConfigError, Reader, Setting, Source};
pub use variable::{Environment, Variable};
