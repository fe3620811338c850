//! An archive as a stream of lines, and a temporary file for lines that are read again. Must not
//! know the kinds of lines.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest, Sha256};

use base::error::{Error, Result};
use base::object::Hash;

/// First bytes of a zstd frame (RFC 8878, section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Largest window of a frame, as a power of two: 32 MiB, which the decoder holds in memory. Only
/// `--ultra -21` and `--long` need more.
pub const MAX_WINDOW_LOG: u32 = 25;
/// The size to which any compressed archive may expand, and the further bytes allowed for each of
/// its bytes. A text takes five times its size while it is checked and stored, so a small archive
/// stays under 256 MiB with the program; text compresses to a tenth.
const MAX_EXPANDED_BYTES: u64 = 32 << 20;
const MAX_EXPANSION: u64 = 50;

/// The size to which this many compressed bytes may expand.
pub fn max_expanded(compressed: u64) -> u64 {
    compressed.saturating_mul(MAX_EXPANSION).saturating_add(MAX_EXPANDED_BYTES)
}

/// Largest line buffer that is kept for the next line.
const KEPT_LINE_BYTES: usize = 1 << 20;

/// Bytes buffered in memory before they are written to the temporary file.
const SPOOL_BUFFER_BYTES: usize = 1 << 20;

/// The lines of an archive, in order.
pub(super) struct ArchiveLines<'a> {
    input: Box<dyn BufRead + 'a>,
    path: PathBuf,
    /// Bytes read of a compressed archive; `None` for a plain one.
    compressed: Option<Rc<Cell<u64>>>,
    max_bytes: usize,
    line: Vec<u8>,
    /// Number of the current line, from 1; after the end, that of the missing line.
    pub(super) number: u64,
    /// Uncompressed bytes up to and including this line.
    pub(super) bytes: u64,
    hasher: Sha256,
}

impl<'a> ArchiveLines<'a> {
    /// Reads plain text, or zstd if the input begins with its magic number. `path`: used in error
    /// messages. `max_bytes`: longest line.
    pub(super) fn new(
        mut input: Box<dyn BufRead + 'a>,
        path: &Path,
        max_bytes: usize,
    ) -> Result<Self> {
        let fail = |source| Error::File { act: "read", path: path.to_owned(), source };
        let mut start = Vec::new();
        input.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut start).map_err(fail)?;
        let is_compressed = start == ZSTD_MAGIC;
        let whole = std::io::Cursor::new(start).chain(input);
        let compressed = is_compressed.then(Rc::default);
        let input: Box<dyn BufRead + 'a> = if let Some(read) = &compressed {
            let counted = Counted { input: whole, read: Rc::clone(read) };
            let mut decoder = zstd::stream::read::Decoder::new(counted).map_err(fail)?;
            decoder.window_log_max(MAX_WINDOW_LOG).map_err(fail)?;
            Box::new(BufReader::new(decoder))
        } else {
            Box::new(whole)
        };
        let path = path.to_owned();
        let hasher = Sha256::new();
        Ok(Self {
            input,
            path,
            compressed,
            max_bytes,
            line: Vec::new(),
            number: 0,
            bytes: 0,
            hasher,
        })
    }

    /// Moves to the next line; `false` at the end of the archive.
    ///
    /// # Errors
    /// `MALFORMED_ARCHIVE` for a line that is too long, unterminated or not UTF-8, or a damaged
    /// zstd frame; `ARCHIVE_EXPANDS`; `FILE`.
    pub(super) fn advance(&mut self) -> Result<bool> {
        self.hasher.update(&self.line);
        self.line.clear();
        self.line.shrink_to(KEPT_LINE_BYTES);
        self.number += 1;
        loop {
            let (used, is_done) = match self.input.fill_buf() {
                Ok([]) if self.line.is_empty() => return Ok(false),
                Ok([]) => return Err(self.malformed("has no end: the archive is cut off")),
                Ok(buffer) => {
                    let end = buffer.iter().position(|byte| *byte == b'\n');
                    let used = end.map_or(buffer.len(), |end| end + 1);
                    self.line.extend_from_slice(&buffer[..used]);
                    (used, end.is_some())
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.unreadable(error)),
            };
            self.input.consume(used);
            if self.line.len() > self.max_bytes {
                return Err(self.malformed(format!("is longer than {} bytes", self.max_bytes)));
            }
            self.check_expansion()?;
            if is_done {
                self.bytes += self.line.len() as u64;
                return Ok(true);
            }
        }
    }

    /// Refuses an archive that expands far more than its compressed size allows, since it may be
    /// meant to exhaust memory or time.
    fn check_expansion(&self) -> Result<()> {
        let Some(read) = &self.compressed else { return Ok(()) };
        let limit = max_expanded(read.get());
        if self.bytes + self.line.len() as u64 <= limit {
            return Ok(());
        }
        Err(Error::ArchiveExpands { what: "archive", line: self.number, limit })
    }

    /// The current line, without its line break.
    pub(super) fn text(&self) -> Result<&str> {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        std::str::from_utf8(line).map_err(|_| self.malformed("is not UTF-8"))
    }

    /// SHA-256 of all bytes before this line.
    pub(super) fn hash_before(&self) -> Hash {
        Hash::from_bytes(&self.hasher.clone().finalize().into())
    }

    /// The error for the current line.
    pub(super) fn malformed(&self, problem: impl Into<String>) -> Error {
        Error::MalformedArchive { line: self.number, problem: problem.into() }
    }

    /// Refuses the current line if something is wrong with it.
    pub(super) fn refuse_if(&self, is_wrong: bool, problem: impl fmt::Display) -> Result<()> {
        if is_wrong { Err(self.malformed(problem.to_string())) } else { Ok(()) }
    }

    /// The decoder reports damage as an I/O error.
    fn unreadable(&self, source: std::io::Error) -> Error {
        if self.compressed.is_some() {
            return self.malformed(format!("cannot be decompressed: {source}"));
        }
        Error::File { act: "read", path: self.path.clone(), source }
    }
}

/// A reader that counts the bytes read.
struct Counted<R> {
    input: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        Ok(bytes)
    }
}

/// A place in the temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    offset: u64,
    bytes: usize,
}

impl Extent {
    /// Offset of the end.
    pub(super) fn end(self) -> u64 {
        self.offset + self.bytes as u64
    }
}

/// Lines in an unnamed temporary file, which is deleted when this is dropped.
pub(super) struct Spool {
    file: BufWriter<File>,
    /// Offset of its end.
    written: u64,
    /// Whether the file stands there, and not where something was read.
    is_at_end: bool,
}

impl Spool {
    pub(super) fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| temporary("create", error))?;
        let file = BufWriter::with_capacity(SPOOL_BUFFER_BYTES, file);
        Ok(Self { file, written: 0, is_at_end: true })
    }

    /// Adds a line.
    pub(super) fn push(&mut self, line: &str) -> Result<Extent> {
        let fail = |error| temporary("write", error);
        if !self.is_at_end {
            self.file.seek(SeekFrom::Start(self.written)).map_err(fail)?;
            self.is_at_end = true;
        }
        let extent = Extent { offset: self.written, bytes: line.len() };
        self.file.write_all(line.as_bytes()).map_err(fail)?;
        self.file.write_all(b"\n").map_err(fail)?;
        self.written = extent.end() + 1;
        Ok(extent)
    }

    /// Reads a line.
    pub(super) fn read(&mut self, extent: Extent) -> Result<String> {
        let mut bytes = vec![0; extent.bytes];
        let read = self.at(extent.offset)?.read_exact(&mut bytes);
        read.map_err(|error| temporary("read", error))?;
        String::from_utf8(bytes).map_err(|error| Error::internal(error.to_string()))
    }

    /// The lines from a place on.
    pub(super) fn lines_from(
        &mut self,
        offset: u64,
    ) -> Result<impl Iterator<Item = Result<String>>> {
        let lines = BufReader::new(self.at(offset)?).lines();
        Ok(lines.map(|line| line.map_err(|error| temporary("read", error))))
    }

    /// The file, to be read from a place on.
    fn at(&mut self, offset: u64) -> Result<&mut File> {
        self.file.flush().map_err(|error| temporary("write", error))?;
        self.is_at_end = false;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(offset)).map_err(|error| temporary("read", error))?;
        Ok(file)
    }
}

fn temporary(act: &'static str, source: std::io::Error) -> Error {
    Error::File { act, path: std::env::temp_dir(), source }
}
