//! Writes the requests: one line `{"call":N,"messages":[…]}` for each call, gzipped, so that anyone can price them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::play::{Change, Sent};
use crate::error::{Error, Result};
use crate::store::private;

/// A dump that is being written.
#[derive(Debug)]
pub struct Dump {
    path: PathBuf,
    out: GzEncoder<BufWriter<File>>,
    /// The request as it was last sent.
    messages: Vec<Sent>,
}

impl Dump {
    /// Begins `<name>.jsonl.gz` in a folder, for its user only. A missing folder is created; an existing file is replaced.
    ///
    /// # Errors
    /// `FILE` if it cannot be created.
    pub fn create(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("{name}.jsonl.gz"));
        let made = private::create_folder(folder).and_then(|()| private::replace(&path));
        let file = made.map_err(|source| failed(&path, source))?;
        let out = GzEncoder::new(BufWriter::new(file), Compression::fast());
        Ok(Self { path, out, messages: Vec::new() })
    }

    /// Writes the next call. `given`: the messages of the transcript.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn call(&mut self, call: usize, changes: &[Change], given: &[String]) -> Result<()> {
        for change in changes {
            let end = (change.at + change.remove).min(self.messages.len());
            drop(self.messages.splice(change.at..end, change.insert.iter().cloned()));
        }
        let written = write_line(&mut self.out, call, &self.messages, given);
        written.map_err(|source| failed(&self.path, source))
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn finish(self) -> Result<()> {
        let Self { path, out, .. } = self;
        let finished = out.finish().and_then(|mut file| file.flush());
        finished.map_err(|source| failed(&path, source))
    }
}

fn write_line(
    out: &mut impl Write,
    call: usize,
    messages: &[Sent],
    given: &[String],
) -> io::Result<()> {
    write!(out, r#"{{"call":{call},"messages":["#)?;
    for (index, sent) in messages.iter().enumerate() {
        let json = match sent {
            Sent::Given(index) => &given[*index],
            Sent::Changed { json, .. } | Sent::Ours(json) => json,
        };
        write!(out, "{}{json}", if index == 0 { "" } else { "," })?;
    }
    out.write_all(b"]}\n")
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::File { act: "write", path: path.to_owned(), source }
}
