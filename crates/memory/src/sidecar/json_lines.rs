//! Lenient JSON Lines: each readable line counts, whatever surrounds it. A last line torn by a
//! crash, merge markers, and lines from a later version of the program are reported and stay in the
//! file. Must not open a file.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::finding::{FindingCode, MemoryFinding};
use crate::load::is_merge_mark;

/// The content of a JSON Lines file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonLines<T> {
    /// The readable entries, in order, each with its original line.
    pub(crate) entries: Vec<(T, String)>,
    /// The unreadable lines.
    pub(crate) bad: Vec<BadLine>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Its line number, from 1.
    pub(crate) number: usize,
    /// The line.
    pub(crate) text: String,
    /// The problem, in words that follow "the line".
    pub(crate) problem: String,
}

impl BadLine {
    /// The finding for it.
    pub(crate) fn finding(&self, path: &Path) -> MemoryFinding {
        let words = format!("the line {}, and is ignored", self.problem);
        MemoryFinding::new(FindingCode::BadLine, words).at(path, Some(self.number))
    }
}

/// Parses JSON Lines. Empty lines are skipped; bytes that are not UTF-8 spoil only their own line.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> JsonLines<T> {
    let mut found = JsonLines { entries: Vec::new(), bad: Vec::new() };
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_str(text) {
            Ok(entry) => found.entries.push((entry, text.to_owned())),
            Err(error) => {
                let problem = problem_of(text, &error);
                found.bad.push(BadLine { number, text: text.to_owned(), problem });
            }
        }
    }
    found
}

/// The text that appends lines to a file; `is_torn`: whether the file's last line lacks its line
/// break.
pub(crate) fn appended(lines: &[String], is_torn: bool) -> Vec<u8> {
    let mut bytes = if is_torn { b"\n".to_vec() } else { Vec::new() };
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn problem_of(line: &str, error: &serde_json::Error) -> String {
    if is_merge_mark(line) {
        return "is the mark of a merge that nobody finished".to_owned();
    }
    match error.classify() {
        serde_json::error::Category::Eof => "breaks off".to_owned(),
        serde_json::error::Category::Data => {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or(&said).to_owned();
            format!("is of a form that this version does not know ({said})")
        }
        _ => "is not JSON".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct One {
        a: u32,
    }

    #[test]
    fn what_is_readable_counts_and_the_rest_is_named_by_its_line() {
        let text = b"{\"a\":1}\n<<<<<<< HEAD\n{\"a\":2,\"new\":true}\n=======\n\n{\"a\":\"x\"}\n\xFF\xFE\n>>>>>>> theirs\n{\"a\":";
        let found: JsonLines<One> = read(text);
        let entries: Vec<u32> = found.entries.iter().map(|(one, _)| one.a).collect();
        assert_eq!(entries, [1, 2]);
        let bad: Vec<(usize, &str)> =
            found.bad.iter().map(|bad| (bad.number, bad.problem.as_str())).collect();
        assert_eq!(bad.len(), 6, "{bad:?}");
        assert_eq!(bad[0], (2, "is the mark of a merge that nobody finished"));
        assert_eq!(bad[2].0, 6);
        assert_eq!(bad[3], (7, "is not JSON"));
        assert_eq!(bad[5], (9, "breaks off"));
        assert_eq!(appended(&["x".to_owned()], true), b"\nx\n");
    }

    #[test]
    fn an_empty_file_has_no_lines() {
        let found: JsonLines<One> = read(b"");
        assert_eq!((found.entries.len(), found.bad.len()), (0, 0));
    }
}
