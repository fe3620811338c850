//! Warnings about a memory folder: files that could be read only in part or not at all. Must not
//! decide what to do about them.

use std::path::{Path, PathBuf};

use super::finding::MemoryFinding;
use base::object::quote;

/// A problem in a memory folder. It loses no data, and the prompt still goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable code in upper snake case.
    pub code: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The problem, in words that follow the path.
    pub problem: String,
}

impl Warning {
    /// A warning about a path.
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
