//! What harness tools and shell commands do: the only place that knows them by name.
//!
//! Words in, facts out. Must not do I/O, read the environment, or know a session or a host's
//! messages.

mod call;
mod kind;
mod notice;
mod numbered;
mod patch;
mod programs;
mod tools;
mod touch;

pub mod shell;

pub use call::{Call, command_line};
pub use kind::{
    ShellKind, ToolKind, heads_matches, reads_named_files_only, shows_file, shows_nothing,
    shows_text_of_files,
};
pub use notice::{
    ToldPart, before_notice, host_lines, missing_middles, tells_exit, tells_part, told_exit,
    told_file, told_part, within_ends, without_notice,
};
pub use numbered::has_line_numbers;
pub use patch::Patched;
pub use programs::is_given_paths_only;
pub use touch::{FileAccess, Touch};
