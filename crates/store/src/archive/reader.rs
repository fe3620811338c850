//! Reads an archive to its end and checks all of it, before anything is written. Must not know what
//! the store holds.

use std::collections::{HashMap, HashSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::archive_lines::ArchiveLines;
use super::checked::{Archive, Lined, List, envelope, is_nameless};
use super::format::{
    AgainLine, ContentLine, EndLine, FORMAT, FORMAT_VERSION, Header, Key, Kind, NicknameLine,
    VersionLine,
};
use super::incoming::{Arrivals, Entry, Incoming, Member};
use super::standing::Refusal;
use super::{IsExcluded, Progress, Stage};
use crate::{Item, rules};
use base::error::Result;
use base::object::item::partner;
use base::object::{
    Hash, Nickname, ObjectId, ObjectType, Room, RunningHash, Timestamp, canonical_json,
    payload_hash,
};

/// Lines between two reports of progress.
const REPORT_LINES: u64 = 1_000;
/// Most unknown kinds of lines: a later format has a few.
const MAX_UNKNOWN_KINDS: usize = 100;

/// Reads and checks a whole archive. `now`: this machine's time.
///
/// # Errors
/// `MALFORMED_ARCHIVE` with the line; `ARCHIVE_EXPANDS`; `FILE`.
pub(super) fn read(
    lines: ArchiveLines<'_>,
    now: Timestamp,
    is_excluded: &IsExcluded,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<Archive> {
    Reader::new(lines, now, is_excluded)?.read(progress)
}

/// Reads and checks an archive line by line.
struct Reader<'a> {
    lines: ArchiveLines<'a>,
    /// This machine's time.
    now: Timestamp,
    is_excluded: &'a IsExcluded,
    archive: Archive,
    /// The current transaction, and its objects so far.
    tx: Option<i64>,
    in_transaction: HashSet<ObjectId>,
    by_key: HashMap<Key, usize>,
    /// A version whose item lines are incomplete.
    open: Option<OpenList>,
}

struct OpenList {
    version: usize,
    missing: u64,
    running: RunningHash,
    expected: Hash,
}

impl<'a> Reader<'a> {
    fn new(
        mut lines: ArchiveLines<'a>,
        now: Timestamp,
        is_excluded: &'a IsExcluded,
    ) -> Result<Self> {
        let is_empty = !lines.advance()?;
        lines.refuse_if(is_empty, "is missing: the archive is empty")?;
        let header = header(&lines)?;
        let archive = Archive::new(header)?;
        Ok(Self {
            lines,
            now,
            is_excluded,
            archive,
            tx: None,
            in_transaction: HashSet::new(),
            by_key: HashMap::new(),
            open: None,
        })
    }

    fn read(mut self, progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<Archive> {
        while self.lines.advance()? {
            if self.lines.number.is_multiple_of(REPORT_LINES) {
                progress(Progress { stage: Stage::Checking, done: self.lines.number, of: None })?;
            }
            let Kind { kind } = self.line()?;
            let is_other = ["version", "again", "content", "nickname", "end"].contains(&&*kind);
            let is_due = self.open.is_some() && is_other;
            self.lines.refuse_if(is_due, "stands where an item is due")?;
            match kind.as_str() {
                "content" => self.content()?,
                "version" => self.version()?,
                "item" => self.item()?,
                "again" => self.again()?,
                "nickname" => self.nickname()?,
                "end" => return self.end(),
                "header" => return Err(self.lines.malformed("is a second header")),
                _ => self.unknown(kind)?,
            }
        }
        Err(self.lines.malformed("is missing: the archive is cut off before its last line"))
    }

    /// Counts a line of a later format.
    fn unknown(&mut self, kind: String) -> Result<()> {
        let unknown = &mut self.archive.unknown_lines;
        let is_too_much = unknown.len() == MAX_UNKNOWN_KINDS && !unknown.contains_key(&kind);
        let problem = format_args!("is of one more unknown kind after {MAX_UNKNOWN_KINDS}");
        self.lines.refuse_if(is_too_much, problem)?;
        *unknown.entry(kind).or_default() += 1;
        Ok(())
    }

    fn line<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.lines.text()?;
        serde_json::from_str(text)
            .map_err(|error| self.lines.malformed(format!("cannot be read: {error}")))
    }

    fn content(&mut self) -> Result<()> {
        let ContentLine { hash, text } = self.line()?;
        let found = Hash::of(&text);
        let problem = format_args!("has a content that hashes to `{found}`, it says `{hash}`");
        self.lines.refuse_if(found != hash, problem)?;
        let extent = self.archive.spool.push(self.lines.text()?)?;
        let before = self.archive.contents.insert(hash.clone(), extent);
        self.archive.recent = Some((hash, text));
        self.lines.refuse_if(before.is_some(), "has a content of an earlier line")
    }

    fn version(&mut self) -> Result<()> {
        let line: VersionLine = line_of(&self.lines)?;
        self.check_hashes(&line)?;
        let kind = self.check_identity(&line)?;
        let key = Key::of(&line.id, &line.content_hash, &line.origin);
        let version = self.archive.arrivals.entries.len();
        let known = self.by_key.insert(key, version);
        self.lines.refuse_if(known.is_some(), "has a version of an earlier line")?;
        let before = self.archive.arrivals.latest.get(&line.id).copied();
        let list = self.list(&line, before)?;
        self.check_payload(&line)?;
        self.join(line.tx, &line.id, Member { version, is_new: true })?;
        let partner = kind.and_then(|kind| partner(kind, &line.fields));
        let refused = self.refusal(&line);
        let extent = self.archive.spool.push(self.lines.text()?)?;
        self.archive.arrivals.entries.push(Entry {
            id: line.id,
            kind,
            identity_hash: line.identity_hash,
            content_hash: line.content_hash,
            origin: line.origin,
            key,
            is_redacted: line.redacted.is_some(),
            refused,
            items: line.items.map(|items| items.keep + items.add),
            partner,
            beside: None,
        });
        self.archive.places.push(Lined { line: extent, list });
        Ok(())
    }

    /// Why a version is not taken, whatever the store holds.
    fn refusal(&self, line: &VersionLine) -> Option<Refusal> {
        if rules::is_ahead(line.origin.time, self.now) {
            return Some(Refusal::Ahead);
        }
        let path = line.source.as_ref().and_then(|source| source.get("path")?.as_str());
        let has_text = line.content.is_some() || !line.additional.is_empty();
        let is_text = has_text && line.kind == "file";
        let is_excluded = is_text && path.is_some_and(|path| (self.is_excluded)(path));
        is_excluded.then_some(Refusal::Excluded)
    }

    fn check_hashes(&self, line: &VersionLine) -> Result<()> {
        let hashes = [&line.identity_hash, &line.content_hash]
            .into_iter()
            .chain(&line.source_hash)
            .chain(line.redacted.iter().map(|redaction| &redaction.found_hash))
            .chain(line.items.iter().map(|items| &items.hash));
        for hash in hashes {
            self.check_hash(hash)?;
        }
        self.lines.refuse_if(line.origin.store_id.is_empty(), "names no origin")
    }

    fn check_hash(&self, hash: &Hash) -> Result<()> {
        let problem = format_args!("has `{hash}`, which is not a SHA-256");
        self.lines.refuse_if(hash.to_bytes().is_none(), problem)
    }

    /// The type; `None` if this program does not know it or the source.
    fn check_identity(&self, line: &VersionLine) -> Result<Option<ObjectType>> {
        let identity = match &line.source {
            Some(source) => serde_json::json!({ "type": line.kind, "source": source }),
            None => serde_json::json!({ "id": line.id, "type": line.kind, "source": null }),
        };
        // A source that was forgotten cannot be hashed again.
        let found = if is_nameless(line) {
            line.identity_hash.clone()
        } else {
            Hash::of(canonical_json(&identity)?)
        };
        let is_id = line.source.is_none() || line.id.as_str() == found.as_str();
        let problem =
            format_args!("has an identity that hashes to `{found}`, which it does not say");
        self.lines.refuse_if(found != line.identity_hash || !is_id, problem)?;
        let Arrivals { entries, latest, .. } = &self.archive.arrivals;
        let before = latest.get(&line.id).map(|before| &entries[*before]);
        let is_other = before.is_some_and(|before| before.identity_hash != found);
        self.lines.refuse_if(is_other, "has another identity than a line before")?;
        let is_known = envelope(line)?.is_some();
        Ok(ObjectType::parse(&line.kind).filter(|_| is_known))
    }

    /// Records which list a version continues, and how many items of its own must follow.
    fn list(&mut self, line: &VersionLine, before: Option<usize>) -> Result<Option<List>> {
        let Some(items) = &line.items else { return Ok(None) };
        let all = items.keep.checked_add(items.add);
        self.lines.refuse_if(all.is_none(), "counts more items than there can be")?;
        let last = items.keep.checked_sub(1);
        let kept = last.and_then(|last| self.archive.running_hash(before?, last));
        let lacks = last.is_some() && kept.is_none();
        self.lines.refuse_if(lacks, "keeps more items than there are")?;
        let running = kept.map_or_else(RunningHash::default, RunningHash::from_stored);
        let is_other = items.add == 0 && *running.hash() != items.hash;
        self.lines.refuse_if(is_other, "has another hash of its items than they have")?;
        if items.add > 0 {
            self.open = Some(OpenList {
                version: self.archive.arrivals.entries.len(),
                missing: items.add,
                running,
                expected: items.hash.clone(),
            });
        }
        Ok(Some(List { base: before, keep: items.keep, add: Vec::new() }))
    }

    fn check_payload(&mut self, line: &VersionLine) -> Result<()> {
        for hash in line.content.iter().chain(line.additional.values()) {
            let problem =
                format_args!("refers to the content `{hash}`, of which no line is before");
            self.lines.refuse_if(!self.archive.contents.contains_key(hash), problem)?;
        }
        let content = line.content.as_ref().map(|hash| self.archive.content(hash)).transpose()?;
        let items = line.items.as_ref().map(|items| &items.hash);
        let found = payload_hash(&line.fields, content.as_deref(), items, &line.additional)?;
        let redacted = line.redacted.as_ref().map(|redaction| &redaction.found_hash);
        let says = redacted.unwrap_or(&line.content_hash);
        let problem = format_args!("has a payload that hashes to `{found}`, it says `{says}`");
        self.lines.refuse_if(found != *says, problem)
    }

    fn item(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Err(self.lines.malformed("is an item where none is due"));
        };
        let Item { text, running_hash: hash, redacted } = self.line()?;
        self.check_hash(&hash)?;
        match &redacted {
            // Its running hash covers the original text, which the archive lacks.
            Some(redacted) if Hash::of(&text) == *redacted => {
                open.running = RunningHash::from_stored(hash.clone());
            }
            None if open.running.push(&text) == hash => {}
            _ => return Err(self.lines.malformed("has an item that is not what its hash says")),
        }
        self.archive.spool.push(self.lines.text()?)?;
        if let Some(list) = &mut self.archive.places[open.version].list {
            list.add.push(hash.to_bytes().unwrap_or_default());
        }
        open.missing -= 1;
        let is_other = open.missing == 0 && open.expected != hash;
        self.open = Some(open).filter(|open| open.missing > 0);
        self.lines.refuse_if(is_other, "is the last item and has not the hash of the list")
    }

    fn again(&mut self) -> Result<()> {
        let AgainLine { tx, id, content_hash, origin } = self.line()?;
        let key = Key::new(&id, &content_hash, &origin.store_id, origin.tx_id);
        let Some(version) = self.by_key.get(&key).copied() else {
            return Err(self.lines.malformed("names a version that no line before has"));
        };
        self.join(tx, &id, Member { version, is_new: false })
    }

    /// Adds a version to its transaction.
    fn join(&mut self, tx: i64, id: &ObjectId, member: Member) -> Result<()> {
        if self.tx != Some(tx) {
            let is_earlier = self.tx.is_some_and(|newest| newest > tx);
            let problem = "is of an earlier transaction than the line before";
            self.lines.refuse_if(is_earlier, problem)?;
            self.tx = Some(tx);
            self.in_transaction.clear();
            self.archive.arrivals.begin();
        }
        let is_second = !self.in_transaction.insert(id.clone());
        let problem = "has an object for the second time in its transaction";
        self.lines.refuse_if(is_second, problem)?;
        self.archive.arrivals.join(id, member);
        Ok(())
    }

    fn nickname(&mut self) -> Result<()> {
        let NicknameLine { nickname, id } = self.line()?;
        let nickname = Nickname::parse(&nickname)
            .map_err(|error| self.lines.malformed(format!("has no nickname: {error}")))?;
        let is_known = self.archive.arrivals.latest.contains_key(&id);
        self.lines.refuse_if(!is_known, "names an object that no line before has")?;
        self.archive.arrivals.nicknames.push((nickname, id));
        Ok(())
    }

    fn end(mut self) -> Result<Archive> {
        let EndLine { lines, sha256 } = self.line()?;
        let before = self.lines.number - 1;
        let problem = format_args!("counts {lines} lines, there are {before}");
        self.lines.refuse_if(lines != before, problem)?;
        let found = self.lines.hash_before();
        let problem =
            format_args!("says that the lines before hash to `{sha256}`, it is `{found}`");
        self.lines.refuse_if(found != sha256, problem)?;
        self.archive.arrivals.pair();
        self.archive.bytes = self.lines.bytes;
        let is_more = self.lines.advance()?;
        self.lines.refuse_if(is_more, "stands behind the last one")?;
        Ok(self.archive)
    }
}

/// The object in a line, within the memory limit: its values may be many and small.
fn object(lines: &ArchiveLines<'_>) -> Result<serde_json::Result<Map<String, Value>>> {
    let text = lines.text()?;
    let room = Room::for_file(text.len());
    let object = room.object(text);
    let problem = format_args!("takes more than {} bytes of memory", room.size());
    lines.refuse_if(room.is_full(), problem)?;
    Ok(object)
}

/// A line with fields that may hold anything.
fn line_of<T: DeserializeOwned>(lines: &ArchiveLines<'_>) -> Result<T> {
    let line = object(lines)?.and_then(|object| serde_json::from_value(Value::Object(object)));
    line.map_err(|error| lines.malformed(format!("cannot be read: {error}")))
}

fn header(lines: &ArchiveLines<'_>) -> Result<Header> {
    let not_ours = || lines.malformed("is not a header of an archive");
    let value = Value::Object(object(lines)?.map_err(|_| not_ours())?);
    if value["kind"] != "header" || value["format"] != FORMAT {
        return Err(not_ours());
    }
    match value["version"].as_u64() {
        Some(version) if version > u64::from(FORMAT_VERSION) => {
            let problem =
                format!("has format version {version}, this program knows {FORMAT_VERSION}");
            Err(lines.malformed(problem))
        }
        _ => serde_json::from_value(value)
            .map_err(|error| lines.malformed(format!("cannot be read: {error}"))),
    }
}
