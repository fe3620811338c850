//! Pins: a cited file found on disk, with what the entry rests on in it and the SHA-256 of that when
//! the entry was written. `check` says later whether the file still says the same. Must not know
//! pages, or keep a file's text.

mod blocks;
mod check;
mod cited_files;
mod moved;
mod pinned_lines;
mod resting;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use self::check::{Checker, Pinned};
pub(super) use self::cited_files::{Citing, Listing, Places};
pub use self::pinned_lines::PinnedLines;
use base::object::Hash;
use source::FileState;

/// Largest file whose content is compared.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// A cited file, as of when the entry was written or confirmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CitationPin {
    /// Its path with `/`: relative to the project, absolute, or starting with `~`.
    pub path: String,
    /// SHA-256 of its text, with LF line endings; of the bytes of a file that is no text.
    pub hash: Hash,
    /// SHA-256 of its text without blanks; none of files that are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Hash>,
    /// The lines that the entry rests on; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<PinnedLines>,
    /// What the entry names that stood there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Four digits for some of the lines of a whole file, by which it is told how much of it still
    /// stands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub marks: String,
    /// Whether only that it is there counts: the entry runs it.
    #[serde(default, rename = "run", skip_serializing_if = "std::ops::Not::not")]
    pub is_run: bool,
    /// Whether it may not be shared with others, or is meaningless to them: the file is excluded,
    /// or git ignores it and everybody has a different one.
    #[serde(default, rename = "private", skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
}

impl CitationPin {
    /// The pin of a whole file.
    fn whole(path: String, hash: Hash) -> Self {
        let (names, marks) = (Vec::new(), String::new());
        Self { path, hash, said: None, lines: None, names, marks, is_run: false, is_private: false }
    }

    /// The place that it covers, as people write it: `src/a.rs`, `src/a.rs:3`, `src/a.rs:3-9`.
    pub fn place(&self) -> String {
        match &self.lines {
            None => self.path.clone(),
            Some(lines) if lines.count <= 1 => format!("{}:{}", self.path, lines.first),
            Some(lines) => format!("{}:{}-{}", self.path, lines.first, lines.last()),
        }
    }
}

/// What became of a cited place. In the order in which a person looks at them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CitedChange {
    /// It changed, and something that the entry names stands there no more; or it is not there.
    Contradicted,
    /// The file is gone.
    Gone,
    /// It stands in another file of the project.
    Moved {
        /// Its path with `/`, relative to the project.
        to: String,
    },
    /// It changed, and what the entry names still stands there.
    Touched,
}

impl CitedChange {
    /// The name in documents.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// Whether the entry probably is wrong.
    pub fn is_strong(&self) -> bool {
        matches!(self, Self::Contradicted | Self::Gone)
    }
}

/// Whether a file's path ends with a cited one.
pub(super) fn ends_so(file: &str, cited: &str) -> bool {
    let before = file.strip_suffix(cited);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn is_markdown(path: &str) -> bool {
    let end = Path::new(path).extension().and_then(|end| end.to_str());
    end.is_some_and(|end| ["md", "mdx", "markdown"].iter().any(|it| end.eq_ignore_ascii_case(it)))
}

/// The text of a file that was read, with LF line endings. One that is not UTF-8 is taken byte for
/// byte, since what changed in it shows whatever its letters are. `None` where it is no text.
fn text_of(path: &Path, state: FileState) -> Option<String> {
    let text = match state {
        FileState::Text { text, .. } => text,
        FileState::Binary { .. } => {
            let bytes = source::read_bytes(path).ok().flatten();
            bytes.filter(|bytes| !bytes.contains(&0))?.into_iter().map(char::from).collect()
        }
        _ => return None,
    };
    Some(with_lf(&text))
}

/// A text with LF line endings.
pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}
