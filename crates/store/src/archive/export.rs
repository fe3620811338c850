//! Writes an archive. Only reads the store; verifies what it reads, so that the archive can be
//! imported.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::format::{
    AgainLine, ContentLine, EndLine, FORMAT, FORMAT_VERSION, Header, ItemLine, ItemsEntry, Key,
    Line, NicknameLine, OriginKey, ScopeLine, Tagged, VersionLine,
};
use super::prefix::common_items;
use super::scope::Selection;
use super::{ArchiveScope, ExportOptions, Exported, OnProgress, Progress, Stage};
use crate::{Item, Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, Redaction, RedactionReason, TxId, payload_hash};
use redact::{Redacted, redact_fields, redact_json, redact_text};

/// zstd's default; see `sqlite::rows`.
const ZSTD_LEVEL: i32 = 3;

/// Items read at once.
const ITEMS_AT_ONCE: u64 = 256;

/// Versions between two reports of progress.
const REPORT_VERSIONS: u64 = 256;

impl Store {
    /// Writes an archive to `output` and flushes it. Versions written by others meanwhile are not
    /// included.
    ///
    /// `path`: used in error messages.
    ///
    /// # Errors
    /// `NOT_FOUND` for an unknown session or object; `INVALID_ARGUMENT` if the session's ID belongs
    /// to another type; `HASH_MISMATCH` or `STORE_CORRUPT` if stored data is damaged; `FILE`.
    pub fn export_archive(
        &self,
        output: impl Write,
        path: &Path,
        options: &ExportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Exported> {
        let selection = Selection::new(self, &options.scope)?;
        let fail = |source| Error::File { act: "write", path: path.to_owned(), source };
        let mut counted = Counted { inner: output, bytes: 0 };
        let mut exported = if options.compress {
            let mut encoder =
                zstd::stream::write::Encoder::new(&mut counted, ZSTD_LEVEL).map_err(fail)?;
            encoder.include_checksum(true).map_err(fail)?;
            let exported =
                Export::new(self, &mut encoder, path, options).run(selection, progress)?;
            encoder.finish().map_err(fail)?;
            exported
        } else {
            Export::new(self, &mut counted, path, options).run(selection, progress)?
        };
        counted.flush().map_err(fail)?;
        exported.written_bytes = counted.bytes;
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

/// A version's redaction record after text in it was replaced.
pub(super) fn redaction(
    version: &Version,
    fields: &Map<String, Value>,
    content: Option<&str>,
    additional: &BTreeMap<String, Hash>,
) -> Result<Redaction> {
    let found_hash = payload_hash(fields, content, version.items_hash.as_ref(), additional)?;
    let reason = version.redacted.as_ref().map_or(RedactionReason::Secret, |past| past.reason);
    Ok(Redaction { reason, found_hash })
}

struct Export<'a, W> {
    store: &'a Store,
    options: &'a ExportOptions,
    output: W,
    path: PathBuf,
    hasher: Sha256,
    /// Each content's hash as written, by its hash in the store; the two differ after redaction.
    contents: HashMap<Hash, Hash>,
    written: HashSet<Hash>,
    versions: HashSet<Key>,
    /// The last version written of each document with items.
    last: HashMap<ObjectId, Version>,
    objects: HashSet<ObjectId>,
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
            contents: HashMap::new(),
            written: HashSet::new(),
            versions: HashSet::new(),
            last: HashMap::new(),
            objects: HashSet::new(),
            report: Exported::default(),
        }
    }

    fn run(mut self, mut selection: Selection<'_>, progress: OnProgress<'_>) -> Result<Exported> {
        self.header()?;
        let mut reported = 0;
        while let Some(versions) = selection.next()? {
            for version in versions {
                self.version(version)?;
                if self.report.versions - reported >= REPORT_VERSIONS {
                    reported = self.report.versions;
                    let stage = Stage::Exporting;
                    progress(Progress { stage, done: reported, of: selection.count() })?;
                }
            }
        }
        self.nicknames()?;
        let sha256 = Hash::from_bytes(&self.hasher.clone().finalize().into());
        self.line(&EndLine { lines: self.report.lines, sha256 })?;
        self.report.objects = self.objects.len() as u64;
        Ok(self.report)
    }

    fn header(&mut self) -> Result<()> {
        let what = match &self.options.scope {
            ArchiveScope::Everything => ScopeLine::Everything,
            ArchiveScope::Session(id) => ScopeLine::Session { id: id.clone() },
            ArchiveScope::Object(id) => ScopeLine::Object { id: id.clone() },
        };
        self.line(&Header {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            store_id: self.store.id().to_owned(),
            exported_at: self.store.now().to_string(),
            what,
            redacted: self.options.redact,
        })
    }

    fn version(&mut self, version: Version) -> Result<()> {
        let id = version.envelope.id.clone();
        let key = Key::of(&id, &version.content_hash, &version.origin);
        if self.versions.insert(key) {
            self.first_time(&version)?;
        } else {
            let origin = &version.origin;
            let store_id = origin.store_id.clone();
            self.line(&AgainLine {
                tx: version.tx_id.0,
                id: id.clone(),
                content_hash: version.content_hash.clone(),
                origin: OriginKey { store_id, tx_id: origin.tx_id },
            })?;
        }
        self.objects.insert(id.clone());
        if version.items_hash.is_some() {
            self.last.insert(id, version);
        }
        Ok(())
    }

    fn first_time(&mut self, version: &Version) -> Result<()> {
        self.store.verify(version)?;
        let (fields, redacted) = self.payload(version)?;
        let content = version.content.as_ref().map(|hash| self.contents[hash].clone());
        let contents = version.additional.iter();
        let additional = contents.map(|(name, hash)| (name.clone(), self.contents[hash].clone()));
        let additional = additional.collect();
        let keep = self.kept_items(version)?;
        let items = version.items_hash.as_ref().map(|hash| ItemsEntry {
            keep,
            add: version.item_count - keep,
            hash: hash.clone(),
        });
        let source = version.envelope.source.as_ref().map(serde_json::to_value).transpose();
        self.line(&VersionLine {
            tx: version.tx_id.0,
            id: version.envelope.id.clone(),
            kind: version.envelope.kind.as_str().to_owned(),
            source: source.map_err(|error| Error::internal(error.to_string()))?,
            identity_hash: version.envelope.identity_hash.clone(),
            origin: version.origin.clone(),
            source_hash: version.source_hash.clone(),
            content_hash: version.content_hash.clone(),
            fields,
            content,
            additional,
            redacted,
            items,
        })?;
        self.report.versions += 1;
        self.items(version, keep)
    }

    /// Writes those contents of a version that were not written yet. Returns its fields, and its
    /// redaction if text was removed.
    fn payload(&mut self, version: &Version) -> Result<(Map<String, Value>, Option<Redaction>)> {
        let mut is_changed = false;
        let mut texts = BTreeMap::new();
        for hash in version.content.iter().chain(version.additional.values()) {
            if self.options.redact || !self.contents.contains_key(hash) {
                let text = self.store.text(&version.envelope.id, hash)?;
                let text = self.content(hash, text)?;
                texts.insert(hash.clone(), text);
            }
            is_changed |= self.contents[hash] != *hash;
        }
        let mut fields = version.fields.clone();
        if self.options.redact {
            let counts = redact_fields(&mut fields);
            is_changed |= !counts.is_empty();
            self.count(counts);
        }
        if !is_changed {
            return Ok((fields, version.redacted.clone()));
        }
        let content = version.content.as_ref().and_then(|hash| texts.get(hash));
        let passed = |(name, hash): (&String, &Hash)| (name.clone(), self.contents[hash].clone());
        let additional = version.additional.iter().map(passed).collect();
        let redacted = redaction(version, &fields, content.map(String::as_str), &additional)?;
        Ok((fields, Some(redacted)))
    }

    /// Writes a content, unless it was written already; returns its text as in the archive.
    fn content(&mut self, hash: &Hash, text: String) -> Result<String> {
        let text = if self.options.redact {
            let Redacted { text: redacted, counts } = redact_text(&text);
            if !self.contents.contains_key(hash) {
                self.count(counts);
            }
            redacted.unwrap_or(text)
        } else {
            text
        };
        if self.contents.contains_key(hash) {
            return Ok(text);
        }
        let written = if self.options.redact { Hash::of(&text) } else { hash.clone() };
        self.contents.insert(hash.clone(), written.clone());
        if !self.written.insert(written.clone()) {
            return Ok(text);
        }
        self.report.contents += 1;
        let line = ContentLine { hash: written, text };
        self.line(&line)?;
        Ok(line.text)
    }

    /// Number of items that a version shares with the previous version of the document.
    fn kept_items(&self, version: &Version) -> Result<u64> {
        let id = &version.envelope.id;
        let Some(before) = self.last.get(id) else { return Ok(0) };
        let most = before.item_count.min(version.item_count);
        let hash_at = |tx_id: TxId, at: u64| -> Result<Option<Hash>> {
            let items = self.store.backend().items(id, AsOf::Tx(tx_id), at..at + 1)?;
            Ok(items.into_iter().next().map(|item| item.running_hash))
        };
        common_items(most, |at| Ok(hash_at(before.tx_id, at)? == hash_at(version.tx_id, at)?))
    }

    /// Writes the items of a version from `keep` on.
    fn items(&mut self, version: &Version, keep: u64) -> Result<()> {
        let mut next = keep;
        while next < version.item_count {
            let range = next..version.item_count.min(next + ITEMS_AT_ONCE);
            next = range.end;
            let at = AsOf::Tx(version.tx_id);
            for item in self.store.list_items(&version.envelope.id, at, range)? {
                let Item { mut text, running_hash, mut redacted } = item;
                if self.options.redact {
                    let found = redact_json(&text);
                    if let Some(changed) = found.text {
                        redacted = Some(Hash::of(&changed));
                        text = changed;
                    }
                    self.count(found.counts);
                }
                self.report.items += 1;
                self.line(&ItemLine { text, hash: running_hash, redacted })?;
            }
        }
        Ok(())
    }

    fn nicknames(&mut self) -> Result<()> {
        let mut ids: Vec<ObjectId> = self.objects.iter().cloned().collect();
        ids.sort();
        for id in ids {
            for nickname in self.store.nicknames(&id)? {
                self.report.nicknames += 1;
                let nickname = nickname.as_str().to_owned();
                self.line(&NicknameLine { nickname, id: id.clone() })?;
            }
        }
        Ok(())
    }

    fn count(&mut self, counts: BTreeMap<&'static str, u64>) {
        for (rule, count) in counts {
            *self.report.redactions.entry(rule).or_default() += count;
        }
    }

    fn line<L: Line>(&mut self, line: &L) -> Result<()> {
        let mut text = serde_json::to_vec(&Tagged::new(line))
            .map_err(|error| Error::internal(format!("a line is no JSON: {error}")))?;
        text.push(b'\n');
        self.hasher.update(&text);
        self.report.lines += 1;
        self.report.bytes += text.len() as u64;
        let fail = |source| Error::File { act: "write", path: self.path.clone(), source };
        self.output.write_all(&text).map_err(fail)
    }
}
