//! Sessions from end to end, on a scripted host that keeps its list as Pi does and runs tools on real files.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod archived;
mod changes;
mod checks;
mod economics;
mod excerpts;
mod failing;
mod folded;
mod found;
mod host;
mod host_lists;
mod inspect;
mod ledger;
mod linked;
mod log_layout;
mod moves;
mod needs;
mod payloads;
mod pools_layout;
mod properties;
mod script;
mod script_files;
mod tracked;
mod two_processes;
mod withheld;
