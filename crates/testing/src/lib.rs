//! What the tests of several crates share. Must not be a dependency of anything but tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]
#![expect(clippy::new_without_default, reason = "what they make is of the machine")]
#![expect(clippy::missing_panics_doc, reason = "they all do")]
#![expect(missing_docs, reason = "nobody but tests reads it")]

pub mod cases;
pub mod child;
pub mod conversations;
pub mod data;
pub mod faults;
pub mod hostile;
pub mod http;
pub mod ports;
pub mod postgres;
pub mod private_file;
pub mod privilege;
pub mod processor_time;
pub mod skip;
pub mod xtdb;
