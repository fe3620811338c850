//! What a person should know of a memory folder: files that could be read in part or not at all. Must not decide what to do about it.

use std::path::{Path, PathBuf};

use super::finding::MemoryFinding;
use base::object::quote;

/// What is wrong with a memory folder. Nothing is lost by any of it, and the prompt goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable code in upper snake case.
    pub code: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong, in words that follow the path.
    pub problem: String,
}

impl Warning {
    /// A warning on a path.
    pub fn new(code: &'static str, path: &Path, problem: impl Into<String>) -> Self {
        let problem = quote::line(&problem.into()).into_owned();
        Self { code, path: path.to_owned(), problem }
    }
}

impl From<MemoryFinding> for Warning {
    fn from(finding: MemoryFinding) -> Self {
        let problem = match finding.line {
            Some(line) => format!("line {line}: {}", finding.words),
            None => finding.words,
        };
        Self { code: finding.code.as_str(), path: finding.file.unwrap_or_default(), problem }
    }
}
