//! Snapshots of the working folder of a session, each a folder of its own: `call-N`, as it was when request N went out (numbered
//! from 0), and `result-ID`, as it was when the tool call of that ID ended. Any of them may be missing.
//!
//! Only finds them. Must not read what they hold.

use std::path::PathBuf;

/// See the module.
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

    /// The snapshot of a tool call's end. All but ASCII letters, digits, `-`, `_` and `.` of the ID are `_` in its name.
    pub(super) fn of_result(&self, id: &str) -> Option<PathBuf> {
        let may_stay = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = id.chars().map(|c| if may_stay(c) { c } else { '_' }).collect();
        self.named(&format!("result-{name}"))
    }

    fn named(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.join(name)).filter(|folder| folder.is_dir())
    }
}
