//! Writes the requests as gzipped lines, `{"call":N,"messages":[…]}` per call, so that anyone can
//! price them.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::play::{PlayedChange, PlayedRequest};
use base::error::{Error, Result};
use files::{Output, private};

/// A dump being written.
#[derive(Debug)]
pub struct Dump {
    path: PathBuf,
    out: GzEncoder<BufWriter<Output>>,
    /// The request as last sent.
    messages: Vec<PlayedRequest>,
}

impl Dump {
    /// Begins `<name>.jsonl.gz` in a folder, for its user only. A missing folder is created; an
    /// existing file is replaced once this one is finished.
    ///
    /// # Errors
    /// `FILE` if it cannot be created, or if the name, which a stranger may have chosen, leads out
    /// of the folder; as [`Output::create`].
    pub fn create(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("{name}.jsonl.gz"));
        if name.contains(['/', '\\', '\0']) {
            let problem = "it is named by a session whose name leads out of the folder";
            return Err(failed(&path, io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        private::create_folder(folder).map_err(|source| failed(&path, source))?;
        let output = Output::create(&path)?;
        let out = GzEncoder::new(BufWriter::new(output), Compression::fast());
        Ok(Self { path, out, messages: Vec::new() })
    }

    /// Writes the next call. `given`: the transcript's messages.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn call(&mut self, call: usize, changes: &[PlayedChange], given: &[String]) -> Result<()> {
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
        let whole = out.finish().and_then(|file| file.into_inner().map_err(Into::into));
        whole.map_err(|source| failed(&path, source))?.finish()
    }
}

fn write_line(
    out: &mut impl Write,
    call: usize,
    messages: &[PlayedRequest],
    given: &[String],
) -> io::Result<()> {
    write!(out, r#"{{"call":{call},"messages":["#)?;
    for (index, sent) in messages.iter().enumerate() {
        let json = match sent {
            PlayedRequest::Given(index) => &given[*index],
            PlayedRequest::Changed { json, .. } | PlayedRequest::Ours(json) => json,
        };
        write!(out, "{}{json}", if index == 0 { "" } else { "," })?;
    }
    out.write_all(b"]}\n")
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::File { act: "write", path: path.to_owned(), source }
}
