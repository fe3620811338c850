//! Sessions from end to end, without Node: on a scripted host that keeps its list as Pi does and
//! runs tools on real files, and on recorded sessions.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/recorded.rs"]
mod recorded;

mod archived;
mod asked;
#[cfg(unix)]
mod bad_files;
mod caches;
mod changes;
mod checks;
mod compactions;
mod confined;
mod continued;
mod cut_outputs;
mod economics;
mod elsewhere;
mod excerpts;
mod failing;
mod faults;
mod figures;
mod folded;
mod forged;
mod found;
mod harnesses;
mod host;
mod host_lists;
mod hostile;
mod images;
mod injected;
mod inspect;
mod ledger;
mod linked;
mod local;
mod log_layout;
mod memory;
mod moves;
mod needs;
mod payloads;
mod pi_read;
mod pools_layout;
mod properties;
mod recorded_runs;
mod replayed;
mod running_turns;
mod script;
mod script_files;
mod secrets;
mod segments;
mod shapes;
#[cfg(target_os = "linux")]
mod silent_disk;
mod timeline;
mod tracked;
mod transcripts;
mod two_processes;
mod windows;
mod withheld;
