//! Reads a recorded session: a list of pi-ai messages.
//!
//! Knows the neutral form: JSON lines, plain or gzipped, a header first. Must not change a message.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// Endings of the names of transcripts; the part before is the name.
const ENDINGS: [&str; 2] = [".jsonl.gz", ".jsonl"];

/// A recorded session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Name of its file without the ending.
    pub name: String,
    /// Its messages in order, each as JSON (shapes of pi-ai).
    pub messages: Vec<String>,
}

impl Transcript {
    /// Reads a file.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it cannot be read or a line is no JSON.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| {
            Error::argument("transcript", format!("`{shown}` cannot be read: {error}"))
        };
        let file = File::open(path).map_err(unreadable)?;
        let plain: Box<dyn Read> = if path.extension().is_some_and(|ending| ending == "gz") {
            Box::new(MultiGzDecoder::new(file))
        } else {
            Box::new(file)
        };
        let mut messages = Vec::new();
        for (index, line) in BufReader::new(plain).lines().enumerate() {
            let line = line.map_err(unreadable)?;
            let value: serde_json::Value = serde_json::from_str(&line).map_err(|error| {
                let number = index + 1;
                Error::argument(
                    "transcript",
                    format!("`{shown}` line {number} is no JSON: {error}"),
                )
            })?;
            if value.get("role").is_some() {
                messages.push(line);
            }
        }
        Ok(Self { name: name_of(path), messages })
    }
}

fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let short = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending));
    short.unwrap_or(&file).to_owned()
}
