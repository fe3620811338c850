//! A store that many machines share, in XTDB 1 over its own HTTP server: the backend
//! ([`XtdbBackend`]), and the synchronisation of a local store with the shared one ([`Sharing`]).
//!
//! The only crate that knows HTTP. Must not know a session. Read the page of `server` first, then
//! that of `sync`.

mod server;
mod sync;

pub use server::{Machine, XtdbBackend, XtdbServer, connect, examine_xtdb};
pub use sync::{
    Migrated, Pulled, Pushed, Restored, Running, Sharing, SharingError, SharingMachine,
    SharingOptions, SharingStatus, machine_of, migrate, sent_until,
};
