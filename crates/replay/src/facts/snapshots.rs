//! Snapshots of a session's working folder, each in its own folder: `call-N`, as it was when
//! request N was sent (numbered from 0), and `result-ID`, as it was when the tool call with that ID
//! ended. Any of them may be missing.
//!
//! Only finds them. Must not read their content.

use std::path::PathBuf;

/// The snapshots of one transcript; see the module.
#[derive(Debug)]
pub(super) struct Snapshots {
    folder: PathBuf,
}

impl Snapshots {
    /// The snapshots in a folder.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The snapshot of a request.
    pub(super) fn of_request(&self, number: usize) -> Option<PathBuf> {
        self.named(&format!("call-{number}"))
    }

    /// The snapshot of a tool call's end. In its name, all characters of the ID but ASCII letters,
    /// digits, `-`, `_` and `.` are `_`.
    pub(super) fn of_result(&self, id: &str) -> Option<PathBuf> {
        let may_stay = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = id.chars().map(|c| if may_stay(c) { c } else { '_' }).collect();
        self.named(&format!("result-{name}"))
    }

    fn named(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|folder| folder.is_dir())
    }
}
