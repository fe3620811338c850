//! Files and folders of this machine, opened so that nobody else can bend it: files that belong to their user alone and folders held by
//! handle ([`private`]), outputs that a person names ([`write_output`]), looks that may never be answered ([`looks`]), and which file
//! systems are mounted ([`Mounts`]).
//!
//! Must not know what is in a file. Read [`private`] first.

pub mod looks;
pub mod mount_table;
mod network;
mod output;
pub mod private;

pub use network::Mounts;
pub use output::{Output, write_output};
