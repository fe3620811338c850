//! Writes an archive. Only reads the store; verifies what it reads, so that the archive can be
//! imported.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::format::{
    AgainLine, ContentLine, EndLine, FORMAT, FORMAT_VERSION, Header, Key, Line, NicknameLine,
    OriginKey, VersionLine,
};
use super::prefix::common_items;
use super::scope::selected;
use super::secrets::{Counts, redact_item, redact_version};
use super::standing::session_of;
use super::{ExportOptions, Exported, LeftOut, OnProgress, Progress, STANDARD, Stage};
use crate::{Item, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, Nickname, ObjectId, Source, TxId};
use files::Output;
use redact::Redactor;

/// zstd's default; see `sqlite::rows`.
const ZSTD_LEVEL: i32 = 3;

/// Versions between two reports of progress.
const REPORT_VERSIONS: u64 = 256;

impl Store {
    /// Writes an archive to `output` and flushes it. Versions written by others meanwhile are not
    /// included, and neither are those whose text or items are damaged, nor what a session with a
    /// damaged chat had from then on.
    ///
    /// `path`: used in error messages.
    ///
    /// # Errors
    /// `NOT_FOUND` for an unknown session or object; `INVALID_ARGUMENT` if the session's ID belongs
    /// to another type; `STORE_CORRUPT` if tables are damaged; `FILE`.
    pub fn export_archive(
        &self,
        output: impl Write,
        path: &Path,
        options: &ExportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        let (count, pages) = selected(self, &options.scope)?;
        let fail = |source| Error::File { act: "write", path: path.to_owned(), source };
        let mut counted = Counted { inner: output, bytes: 0 };
        let mut exported = if options.compress {
            let mut encoder =
                zstd::stream::write::Encoder::new(&mut counted, ZSTD_LEVEL).map_err(fail)?;
            encoder.include_checksum(true).map_err(fail)?;
            let exported =
                Export::new(self, &mut encoder, path, options).run(count, pages, progress)?;
            encoder.finish().map_err(fail)?;
            exported
        } else {
            Export::new(self, &mut counted, path, options).run(count, pages, progress)?
        };
        counted.flush().map_err(fail)?;
        exported.written_bytes = counted.bytes;
        Ok(exported)
    }

    /// Writes an archive to a file that only its user may read. An existing file, or a link, is
    /// replaced once the archive is complete and on disk. `-` is standard output.
    ///
    /// # Errors
    /// As [`Self::export_archive`]; `NOT_PRIVATE` for a file of another user; `FILE` also if the
    /// name belongs to something other than a file.
    pub fn export_archive_file(
        &self,
        path: &Path,
        options: &ExportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        if path.as_os_str() == STANDARD {
            return self.export_archive(std::io::stdout().lock(), path, options, progress);
        }
        let mut output = Output::create(path)?;
        let exported =
            self.export_archive(BufWriter::new(output.file()), path, options, progress)?;
        output.finish()?;
        Ok(exported)
    }
}

/// Counts the bytes written.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Half of a SHA-256: a store may have millions of what must not be written twice.
type Mark = [u8; 16];

fn mark(hash: &Hash) -> Mark {
    first_half(&hash.to_bytes().unwrap_or_default())
}

fn first_half(bytes: &[u8; 32]) -> Mark {
    *bytes.first_chunk().unwrap_or(&[0; 16])
}

struct Export<'a, W> {
    store: &'a Store,
    options: &'a ExportOptions,
    output: W,
    path: PathBuf,
    hasher: Sha256,
    /// The contents of the store that were met, and with redaction those written, which differ.
    met: HashSet<Mark>,
    written: HashSet<Mark>,
    versions: HashSet<Mark>,
    objects: HashSet<Mark>,
    nicknames: Vec<(ObjectId, Nickname)>,
    /// The last version written of each document with items, and how many it has.
    last: HashMap<Mark, (TxId, u64)>,
    /// Sessions with a damaged chat, and how that is.
    chatless: HashMap<ObjectId, String>,
    redactor: Redactor,
    report: Exported,
}

impl<'a, W: Write> Export<'a, W> {
    fn new(store: &'a Store, output: W, path: &Path, options: &'a ExportOptions) -> Self {
        Self {
            store,
            options,
            output,
            path: path.to_owned(),
            hasher: Sha256::new(),
            met: HashSet::new(),
            written: HashSet::new(),
            versions: HashSet::new(),
            objects: HashSet::new(),
            nicknames: Vec::new(),
            last: HashMap::new(),
            chatless: HashMap::new(),
            redactor: Redactor::default(),
            report: Exported::default(),
        }
    }

    /// `of`: number of versions, if known in advance.
    fn run(
        mut self,
        of: Option<u64>,
        pages: impl Iterator<Item = Result<Vec<Version>>>,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        self.header()?;
        let mut reported = 0;
        for page in pages {
            for version in page? {
                self.version(&version)?;
                if self.report.versions - reported >= REPORT_VERSIONS {
                    reported = self.report.versions;
                    progress(Progress { stage: Stage::Exporting, done: reported, of })?;
                }
            }
        }
        self.nicknames()?;
        let sha256 = Hash::from_bytes(&self.hasher.clone().finalize().into());
        self.line(&Line::End(&EndLine { lines: self.report.lines, sha256 }))?;
        self.report.objects = self.objects.len() as u64;
        Ok(self.report)
    }

    fn header(&mut self) -> Result<()> {
        self.line(&Line::Header(&Header {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            store_id: self.store.id().to_owned(),
            exported_at: self.store.now().to_string(),
            what: self.options.scope.clone(),
            redacted: self.options.redact,
        }))
    }

    fn version(&mut self, version: &Version) -> Result<()> {
        let id = &version.envelope.id;
        let object = mark(&Hash::of(id.as_str()));
        let key = Key::of(id, &version.content_hash, &version.origin);
        if self.versions.contains(&first_half(&key.0)) {
            let origin = &version.origin;
            let store_id = origin.store_id.clone();
            self.line(&Line::Again(&AgainLine {
                tx: version.tx_id.0,
                id: id.clone(),
                content_hash: version.content_hash.clone(),
                origin: OriginKey { store_id, tx_id: origin.tx_id },
            }))?;
        } else {
            if let Some(detail) = self.chatless.get(id) {
                self.leave_out(version, detail.clone());
                return Ok(());
            }
            let read = self.store.verify(version).and_then(|()| self.own_items(version, object));
            let (keep, items) = match read {
                Err(error) if error.is_damage() => {
                    self.leave_out(version, error.to_string());
                    return Ok(());
                }
                read => read?,
            };
            self.versions.insert(first_half(&key.0));
            self.first_time(version, keep, items)?;
        }
        if self.objects.insert(object) {
            let nicknames = self.store.nicknames(id)?;
            self.nicknames.extend(nicknames.into_iter().map(|nickname| (id.clone(), nickname)));
        }
        if version.items_hash.is_some() {
            self.last.insert(object, (version.tx_id, version.item_count));
        }
        Ok(())
    }

    /// Leaves out a version that is damaged, so that the rest can be carried over.
    fn leave_out(&mut self, version: &Version, detail: String) {
        let id = version.envelope.id.clone();
        if let Some(session) = session_of(version) {
            self.chatless.insert(session, detail.clone());
        }
        let mut known = self.report.left_out.iter_mut();
        if let Some(known) = known.find(|left| left.id == id && left.detail == detail) {
            known.versions += 1;
            return;
        }
        let path = version.envelope.source.as_ref().and_then(Source::path).map(str::to_owned);
        self.report.left_out.push(LeftOut { id, path, reason: "damaged", detail, versions: 1 });
    }

    fn first_time(&mut self, version: &Version, keep: u64, items: Vec<Item>) -> Result<()> {
        let id = &version.envelope.id;
        let mut line = VersionLine::of(version)?;
        if self.options.redact {
            let mut redactor = std::mem::take(&mut self.redactor);
            let counts = redact_version(version, &mut line, &mut redactor, |redactor, hash| {
                self.content(id, hash, redactor)
            })?;
            self.redactor = redactor;
            self.count(counts);
        } else {
            for hash in version.content.iter().chain(version.additional.values()) {
                if !self.met.contains(&mark(hash)) {
                    self.content(id, hash, &mut Redactor::default())?;
                }
            }
        }
        if let Some(items) = &mut line.items {
            (items.keep, items.add) = (keep, version.item_count - keep);
        }
        self.line(&Line::Version(&line))?;
        self.report.versions += 1;
        for mut item in items {
            if self.options.redact {
                let counts = redact_item(&mut item, &mut self.redactor);
                self.count(counts);
            }
            self.report.items += 1;
            self.line(&Line::Item(&item))?;
        }
        Ok(())
    }

    /// Writes a content, unless it was written already; returns it as in the archive, with its hash
    /// there.
    fn content(
        &mut self,
        id: &ObjectId,
        hash: &Hash,
        redactor: &mut Redactor,
    ) -> Result<(Hash, String)> {
        let mut line = ContentLine { hash: hash.clone(), text: self.store.text(id, hash)? };
        let is_new = self.met.insert(mark(hash));
        if self.options.redact {
            let found = redactor.text(&line.text);
            if let Some(text) = found.text {
                line = ContentLine { hash: Hash::of(&text), text };
            }
            if is_new {
                self.count(found.counts);
            }
        }
        let is_unwritten =
            is_new && (!self.options.redact || self.written.insert(mark(&line.hash)));
        if is_unwritten {
            self.report.contents += 1;
            self.line(&Line::Content(&line))?;
        }
        Ok((line.hash, line.text))
    }

    /// Number of items that a version shares with the previous version of the document.
    fn kept_items(&self, version: &Version, object: Mark) -> Result<u64> {
        let id = &version.envelope.id;
        let Some((before, count)) = self.last.get(&object) else { return Ok(0) };
        let most = version.item_count.min(*count);
        let hash_at = |tx_id: TxId, at: u64| -> Result<Option<Hash>> {
            let items = self.store.backend().items(id, AsOf::Tx(tx_id), at..at + 1)?;
            Ok(items.into_iter().next().map(|item| item.running_hash))
        };
        common_items(most, |at| Ok(hash_at(*before, at)? == hash_at(version.tx_id, at)?))
    }

    /// The items of a version that the previous one of the document lacks, and how many these share.
    fn own_items(&self, version: &Version, object: Mark) -> Result<(u64, Vec<Item>)> {
        let keep = self.kept_items(version, object)?;
        let (id, at) = (&version.envelope.id, AsOf::Tx(version.tx_id));
        Ok((keep, self.store.list_items(id, at, keep..version.item_count)?))
    }

    fn nicknames(&mut self) -> Result<()> {
        let mut nicknames = std::mem::take(&mut self.nicknames);
        nicknames.sort();
        for (id, nickname) in nicknames {
            self.report.nicknames += 1;
            let nickname = nickname.as_str().to_owned();
            self.line(&Line::Nickname(&NicknameLine { nickname, id }))?;
        }
        Ok(())
    }

    fn count(&mut self, counts: Counts) {
        for (rule, count) in counts {
            *self.report.redactions.entry(rule).or_default() += count;
        }
    }

    fn line(&mut self, line: &Line<'_>) -> Result<()> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| Error::internal(format!("a line is not JSON: {error}")))?;
        text.push(b'\n');
        self.hasher.update(&text);
        self.report.lines += 1;
        self.report.bytes += text.len() as u64;
        let fail = |source| Error::File { act: "write", path: self.path.clone(), source };
        self.output.write_all(&text).map_err(fail)
    }
}
