//! What tests of several crates share. Must not be a dependency of anything but tests.

pub mod hostile;
