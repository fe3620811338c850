//! XTDB: the real node, run by the development server of `xtdb/`. Without a JDK or Maven, all tests
//! are skipped.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/backend_contract.rs"]
mod backend_contract;
#[path = "../../../../tests/common/calls.rs"]
mod calls;
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

mod agents;
mod asking;
mod backends;
mod bad_input;
mod compare;
mod conformance;
mod deadlines;
mod machine;
mod machines;
mod mounted;
mod nodes;
mod outages;
mod recording;
mod restored;
mod resume;
mod sharing;
mod sockets;
mod speed;
