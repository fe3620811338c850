//! Sessions from end to end, without Node: on a scripted host that keeps its list as Pi does and
//! runs tools on real files, and on recorded sessions.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

#[path = "../../../../tests/common/recorded.rs"]
mod recorded;

mod archived;
mod asked;
mod asked_in_forms;
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
mod guarded;
mod harnesses;
mod host;
mod host_lists;
mod hostile;
mod images;
mod injected;
mod inspect;
mod instructions;
mod late_results;
mod ledger;
mod linked;
mod local;
mod log_layout;
mod memory;
mod message_outputs;
mod moves;
mod needs;
mod notes;
mod passing;
mod payloads;
mod pi_read;
mod pins;
mod pools_layout;
mod properties;
mod recorded_runs;
mod replayed;
mod restarts;
mod running_turns;
mod script;
mod script_files;
mod secrets;
mod segments;
mod shapes;
mod shell_reads;
#[cfg(target_os = "linux")]
mod silent_disk;
mod textless;
mod timeline;
mod told_again;
mod tracked;
mod transcripts;
mod two_processes;
mod windows;
mod withheld;
mod written;
