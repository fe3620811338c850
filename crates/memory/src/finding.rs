//! Something wrong or notable in memory: a value with a code and words. Must not decide what
//! follows from it.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use base::object::quote;

/// Kinds of findings. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FindingCode {
    /// Text that looks like a secret.
    Secret,
    /// The same entry exists already.
    Duplicate,
    /// An existing entry says nearly the same.
    NearDuplicate,
    /// An entry with the same key says something else.
    Contradiction,
    /// Text that a person does not see: characters without a shape, comments.
    HiddenText,
    /// A call left entries out.
    Dropped,
    /// A file of the project that is cited does not exist.
    NoSuchFile,
    /// A text without words.
    Empty,
    /// Text that holds a line of ours which stands for content in one session.
    StandsForContent,
    /// An entry is longer than a line of an index should be.
    LongEntry,
    /// An entry is larger than the limit on what is injected of a file.
    EntryTooLarge,
    /// A file is larger than the limit on what is injected of it.
    AboveCaps,
    /// A file is larger than the limit on what is read.
    TooLarge,
    /// A file holds conflict markers of an unfinished merge.
    ConflictMarkers,
    /// A file's front matter cannot be read.
    FrontMatter,
    /// A file is not UTF-8.
    NotText,
    /// A file, or its folder, cannot be read.
    Unreadable,
    /// A file, or its folder, cannot be written.
    Unwritable,
    /// A link leads out of the project.
    LeadsOut,
    /// A part of a folder is not looked at.
    LeftOut,
    /// A line of a sidecar cannot be read.
    BadLine,
    /// A `config.json` has a wrong value or an unknown key.
    BadConfig,
    /// Text would not be a separate entry, because a code block or comment before it is never
    /// closed.
    UnclosedBlock,
    /// Another topic file of this name exists already.
    FileExists,
    /// It was noted in another project, which was at the path of this one.
    OtherProject,
    /// Others kept changing the file while it was written.
    KeepsChanging,
    /// Another process held the folder's lock for too long.
    Busy,
    /// A text was set aside because others conflicted with it.
    SetAside,
}

impl FindingCode {
    /// The name, in upper snake case.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFinding {
    /// Its kind.
    pub code: FindingCode,
    /// The problem as a full sentence without a period, on one line. Never holds a secret.
    pub words: String,
    /// The file concerned.
    #[serde(serialize_with = "as_text")]
    pub file: Option<PathBuf>,
    /// The line of that file, from 1.
    pub line: Option<usize>,
}

impl MemoryFinding {
    /// A finding without a file.
    pub fn new(code: FindingCode, words: impl Into<String>) -> Self {
        Self { code, words: quote::line(&words.into()).into_owned(), file: None, line: None }
    }

    /// The same finding for a file.
    #[must_use]
    pub fn of_file(self, file: impl Into<PathBuf>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// The same finding for a file, and a line of it.
    #[must_use]
    pub fn at(self, file: impl Into<PathBuf>, line: Option<usize>) -> Self {
        Self { file: Some(file.into()), line, ..self }
    }
}

impl fmt::Display for MemoryFinding {
    /// `path:line: words`, with the parts of the place that are known.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(formatter, "{}:{line}: ", quote::path(file))?,
            (Some(file), None) => write!(formatter, "{}: ", quote::path(file))?,
            _ => {}
        }
        formatter.write_str(&self.words)
    }
}

/// A path may not be UTF-8.
#[expect(clippy::ref_option, reason = "the form that serde asks for")]
fn as_text<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}
