//! XTDB: the real node, which the development server of `xtdb/` runs. Where there is no JDK or no Maven, all are skipped.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../common/backend_contract.rs"]
mod backend_contract;
#[path = "../common/data.rs"]
mod data;
#[path = "../common/faults.rs"]
mod faults;
#[path = "../common/http.rs"]
mod http;
#[path = "../common/ops.rs"]
mod ops;
#[path = "../common/ports.rs"]
mod ports;
#[path = "../common/postgres.rs"]
mod postgres;
#[path = "../common/query_contract.rs"]
mod query_contract;
#[path = "../common/query_model.rs"]
mod query_model;
#[path = "../common/recordings.rs"]
mod recordings;
#[path = "../common/skip.rs"]
mod skip;
#[path = "../common/xtdb.rs"]
mod xtdb;

mod agents;
mod backends;
mod bad_input;
mod compare;
mod conformance;
mod machine;
mod mounted;
mod nodes;
mod outages;
mod recording;
mod resume;
mod sharing;
mod sockets;
mod speed;
