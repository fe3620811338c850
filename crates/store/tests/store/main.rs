//! The store: the contract of its backends, queries, search, and its file under other processes,
//! kills, full disks and damage. Tests here must not need a session, except the recorded sessions
//! that fill a store.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/backend_contract.rs"]
mod backend_contract;
#[path = "../../../../tests/common/ops.rs"]
mod ops;
#[path = "../../../../tests/common/query_contract.rs"]
mod query_contract;
#[path = "../../../../tests/common/query_model.rs"]
mod query_model;
#[path = "../../../../tests/common/recorded.rs"]
mod recorded;
#[path = "../../../../tests/common/recordings.rs"]
mod recordings;

mod aged;
mod backend_replace;
mod backends;
mod beside;
mod damage;
mod disk;
mod doctor;
mod documents;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod file_locks;
mod forget;
mod front;
#[cfg(target_os = "linux")]
mod full_disk;
mod indexing;
#[cfg(unix)]
mod kill;
mod locomo;
mod lost_file;
mod many_writers;
mod model;
mod names;
#[cfg(unix)]
mod private;
mod query;
mod relations_contract;
mod schema_fixtures;
mod search_contract;
mod search_file;
mod search_model;
mod sqlite_file;
mod upkeep_contract;
