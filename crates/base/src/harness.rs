//! What the harnesses' tools and a shell's commands do: the one place that knows them by name.
//!
//! Pure words in, facts out. Must not do I/O, read the environment, know a session or the messages of a host.

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
pub use notice::without_notice;
pub use numbered::has_line_numbers;
pub use patch::Patched;
pub use programs::is_given_paths_only;
pub use touch::{FileAccess, Touch};
