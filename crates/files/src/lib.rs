//! Safe access to files and folders of this machine: files that belong to their user alone and
//! folders held by handle ([`private`]), output files that a person names ([`write_output`]), file
//! access that may hang ([`looks`]), and mounted file systems ([`Mounts`]).
//!
//! Must not know what is in a file. Read [`private`] first.

pub mod looks;
pub mod mount_table;
mod network;
mod output;
pub mod private;

pub use network::Mounts;
pub use output::{Output, Scratch, remove_temporary, with_end, write_output};
