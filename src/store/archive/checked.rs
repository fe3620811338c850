//! Reading an archive to its end and checking all of it, before anything is written: the result is an index of what it
//! holds. Must not know what the store holds.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::de::DeserializeOwned;

use super::format::{
    AgainLine, ContentLine, EndLine, FORMAT, FORMAT_VERSION, Header, ItemLine, Key, Kind,
    NicknameLine, VersionLine,
};
use super::lines::{Extent, Lines, Spool};
use super::{Progress, Stage};
use crate::error::{Error, Result};
use crate::object::item::partner;
use crate::object::{
    Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, RunningHash, Source, canonical_json,
};
use crate::store::Item;

/// Lines between two reports of progress.
const REPORT_LINES: u64 = 1_000;

/// An archive that was read to its end and is whole.
pub(super) struct Archive {
    pub header: Header,
    pub versions: Vec<Entry>,
    /// In the order of the store that wrote the archive.
    pub transactions: Vec<Vec<Member>>,
    pub nicknames: Vec<(Nickname, ObjectId)>,
    /// Lines of kinds that this program does not know, by kind.
    pub unknown_lines: BTreeMap<String, u64>,
    /// Bytes read, uncompressed.
    pub bytes: u64,
    contents: HashMap<Hash, Extent>,
    spool: Spool,
    /// The content read last: often the next version has it too.
    recent: Option<(Hash, String)>,
}

/// A version of a transaction: its index, and whether it stands there for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub version: usize,
    pub is_new: bool,
}

/// A version of the archive.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub id: ObjectId,
    /// `None` where this program does not know the type or the source; such a version is not taken.
    pub kind: Option<ObjectType>,
    pub identity_hash: Hash,
    pub content_hash: Hash,
    pub origin: Origin,
    pub key: Key,
    pub is_redacted: bool,
    pub list: Option<List>,
    /// The object of the other half where this is a session or a chat, see [`super::merge`].
    pub partner: Option<ObjectId>,
    /// The partner's version that stood beside it, for a session.
    pub beside: Option<usize>,
    line: Extent,
}

/// The items of a version: those of another, up to `keep`, and its own.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub base: Option<usize>,
    pub keep: u64,
    /// Running hashes of its own items.
    pub add: Vec<[u8; 32]>,
}

impl List {
    /// Number of items.
    pub(super) fn len(&self) -> u64 {
        self.keep + self.add.len() as u64
    }
}

impl Archive {
    /// Reads and checks an archive.
    ///
    /// # Errors
    /// `MALFORMED_ARCHIVE` with the line; `FILE`.
    pub(super) fn read(
        lines: Lines<'_>,
        progress: &mut dyn FnMut(Progress) -> Result<()>,
    ) -> Result<Self> {
        Reader::new(lines)?.read(progress)
    }

    /// The line of a version.
    pub(super) fn version(&mut self, version: usize) -> Result<VersionLine> {
        let line = self.spool.read(self.versions[version].line)?;
        read_again(&line)
    }

    /// The text of a content that a version of the archive has.
    pub(super) fn content(&mut self, hash: &Hash) -> Result<String> {
        if let Some((_, text)) = self.recent.as_ref().filter(|(recent, _)| recent == hash) {
            return Ok(text.clone());
        }
        let extent = self.contents.get(hash).copied();
        let extent = extent.ok_or_else(|| Error::internal(format!("no content `{hash}`")))?;
        let line = self.spool.read(extent)?;
        let ContentLine { text, .. } = read_again(&line)?;
        self.recent = Some((hash.clone(), text.clone()));
        Ok(text)
    }

    /// The running hash of the list of a version up to and including `position`; `None` where it is shorter.
    pub(super) fn hash_at(&self, version: usize, position: u64) -> Option<Hash> {
        let mut list = self.versions[version].list.as_ref()?;
        if position >= list.len() {
            return None;
        }
        while position < list.keep {
            list = self.versions[list.base?].list.as_ref()?;
        }
        let bytes = list.add.get(usize::try_from(position - list.keep).ok()?)?;
        Some(Hash::from_bytes(bytes))
    }

    /// The items of a version from a position on.
    pub(super) fn items(&mut self, version: usize, from: u64) -> Result<Vec<Item>> {
        // The versions whose own items stand in this list, each up to where the next begins.
        let mut parts = Vec::new();
        let (mut at, mut end) = (Some(version), u64::MAX);
        while let Some(version) = at {
            let Some(list) = &self.versions[version].list else { break };
            let until = end.min(list.len());
            if until > list.keep {
                parts.push((version, from.max(list.keep)..until));
            }
            end = end.min(list.keep);
            at = list.base.filter(|_| end > from);
        }
        let mut items = Vec::new();
        for (version, range) in parts.into_iter().rev().filter(|(_, range)| !range.is_empty()) {
            let keep = self.versions[version].list.as_ref().map_or(0, |list| list.keep);
            self.own_items(version, range.start - keep, range.end - range.start, &mut items)?;
        }
        Ok(items)
    }

    /// Adds `count` of the items that stand behind a version's line, after the first `skip`.
    fn own_items(
        &mut self,
        version: usize,
        skip: u64,
        count: u64,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let (skip, count) = (index(skip), index(count));
        let behind = self.versions[version].line.end() + 1;
        for line in self.spool.lines_from(behind)?.skip(skip).take(count) {
            let ItemLine { text, hash, redacted } = read_again(&line?)?;
            items.push(Item { text, running_hash: hash, redacted });
        }
        Ok(())
    }
}

/// An archive that is being read.
struct Reader<'a> {
    lines: Lines<'a>,
    archive: Archive,
    /// The newest transaction, and the objects that it has so far.
    tx: Option<i64>,
    in_transaction: HashSet<ObjectId>,
    by_key: HashMap<Key, usize>,
    /// The version of each object that stands in the newest transaction.
    standing: HashMap<ObjectId, usize>,
    /// A version of which item lines are still to come.
    open: Option<OpenList>,
}

struct OpenList {
    version: usize,
    missing: u64,
    running: RunningHash,
    expected: Hash,
}

impl<'a> Reader<'a> {
    fn new(mut lines: Lines<'a>) -> Result<Self> {
        if !lines.advance()? {
            return Err(lines.malformed("is missing: the archive is empty"));
        }
        let header = header(&lines)?;
        let archive = Archive {
            header,
            versions: Vec::new(),
            transactions: Vec::new(),
            nicknames: Vec::new(),
            unknown_lines: BTreeMap::new(),
            bytes: 0,
            contents: HashMap::new(),
            spool: Spool::new()?,
            recent: None,
        };
        Ok(Self {
            lines,
            archive,
            tx: None,
            in_transaction: HashSet::new(),
            by_key: HashMap::new(),
            standing: HashMap::new(),
            open: None,
        })
    }

    fn read(mut self, progress: &mut dyn FnMut(Progress) -> Result<()>) -> Result<Archive> {
        while self.lines.advance()? {
            if self.lines.number().is_multiple_of(REPORT_LINES) {
                progress(Progress { stage: Stage::Checking, done: self.lines.number(), of: None })?;
            }
            let Kind { kind } = self.line()?;
            if self.open.is_some() && ["version", "again", "content", "nickname"].contains(&&*kind)
            {
                return Err(self.lines.malformed("stands where an item is due"));
            }
            match kind.as_str() {
                "content" => self.content()?,
                "version" => self.version()?,
                "item" => self.item()?,
                "again" => self.again()?,
                "nickname" => self.nickname()?,
                "end" => return self.end(),
                "header" => return Err(self.lines.malformed("is a second header")),
                _ => *self.archive.unknown_lines.entry(kind).or_default() += 1,
            }
        }
        Err(self.lines.malformed("is missing: the archive is cut off before its last line"))
    }

    fn line<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.lines.text()?;
        serde_json::from_str(text)
            .map_err(|error| self.lines.malformed(format!("cannot be read: {error}")))
    }

    fn content(&mut self) -> Result<()> {
        let ContentLine { hash, text } = self.line()?;
        if Hash::of(&text) != hash {
            let found = Hash::of(&text);
            let problem = format!("has a content that hashes to `{found}`, it says `{hash}`");
            return Err(self.lines.malformed(problem));
        }
        let extent = self.archive.spool.push(self.lines.text()?)?;
        match self.archive.contents.entry(hash.clone()) {
            MapEntry::Occupied(_) => Err(self.lines.malformed("has a content of an earlier line")),
            MapEntry::Vacant(place) => {
                place.insert(extent);
                self.archive.recent = Some((hash, text));
                Ok(())
            }
        }
    }

    fn version(&mut self) -> Result<()> {
        let line: VersionLine = self.line()?;
        self.check_hashes(&line)?;
        let kind = self.check_identity(&line)?;
        let key = Key::of(&line.id, &line.content_hash, &line.origin);
        let version = self.archive.versions.len();
        if self.by_key.insert(key, version).is_some() {
            return Err(self.lines.malformed("has a version of an earlier line"));
        }
        let before = self.standing.get(&line.id).copied();
        let list = self.list(&line, before)?;
        self.check_payload(&line)?;
        self.join(line.tx, &line.id, Member { version, is_new: true })?;
        let partner = kind.and_then(|kind| partner(kind, &line.fields));
        let extent = self.archive.spool.push(self.lines.text()?)?;
        self.archive.versions.push(Entry {
            id: line.id,
            kind,
            identity_hash: line.identity_hash,
            content_hash: line.content_hash,
            origin: line.origin,
            key,
            is_redacted: line.redacted.is_some(),
            list,
            partner,
            beside: None,
            line: extent,
        });
        Ok(())
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
        if line.origin.store_id.is_empty() {
            return Err(self.lines.malformed("names no origin"));
        }
        Ok(())
    }

    fn check_hash(&self, hash: &Hash) -> Result<()> {
        match hash.to_bytes() {
            Some(_) => Ok(()),
            None => Err(self.lines.malformed(format!("has `{hash}`, which is no SHA-256"))),
        }
    }

    /// The type; `None` where it, or the source, is not known to this program.
    fn check_identity(&self, line: &VersionLine) -> Result<Option<ObjectType>> {
        let identity = match &line.source {
            Some(source) => serde_json::json!({ "type": line.kind, "source": source }),
            None => serde_json::json!({ "id": line.id, "type": line.kind, "source": null }),
        };
        let found = Hash::of(canonical_json(&identity)?);
        let is_id = line.source.is_none() || line.id.as_str() == found.as_str();
        if found != line.identity_hash || !is_id {
            let problem =
                format!("has an identity that hashes to `{found}`, which it does not say");
            return Err(self.lines.malformed(problem));
        }
        let before = self.standing.get(&line.id).map(|before| &self.archive.versions[*before]);
        if before.is_some_and(|before| before.identity_hash != found) {
            return Err(self.lines.malformed("has another identity than a line before"));
        }
        let is_known = envelope(line)?.is_some();
        Ok(ObjectType::parse(&line.kind).filter(|_| is_known))
    }

    /// Notes where the list of a version comes from, and that its own items are due.
    fn list(&mut self, line: &VersionLine, before: Option<usize>) -> Result<Option<List>> {
        let Some(items) = &line.items else { return Ok(None) };
        let last = items.keep.checked_sub(1);
        let kept = last.and_then(|last| self.archive.hash_at(before?, last));
        if last.is_some() && kept.is_none() {
            return Err(self.lines.malformed("keeps more items than there are"));
        }
        let running = kept.map_or_else(RunningHash::default, RunningHash::from_stored);
        if items.add == 0 && *running.hash() != items.hash {
            return Err(self.lines.malformed("has another hash of its items than they have"));
        }
        if items.add > 0 {
            self.open = Some(OpenList {
                version: self.archive.versions.len(),
                missing: items.add,
                running,
                expected: items.hash.clone(),
            });
        }
        Ok(Some(List { base: before, keep: items.keep, add: Vec::new() }))
    }

    fn check_payload(&mut self, line: &VersionLine) -> Result<()> {
        for hash in line.content.iter().chain(line.additional.values()) {
            if !self.archive.contents.contains_key(hash) {
                let problem = format!("refers to the content `{hash}`, of which no line is before");
                return Err(self.lines.malformed(problem));
            }
        }
        let mut document = line.fields.clone();
        let content = line.content.as_ref().map(|hash| self.archive.content(hash)).transpose()?;
        document.insert("content".into(), content.into());
        if let Some(items) = &line.items {
            document.insert("items".into(), items.hash.as_str().into());
        }
        if !line.additional.is_empty() {
            document.insert("additional".into(), serde_json::json!(line.additional));
        }
        let found = Hash::of(canonical_json(&document)?);
        let redacted = line.redacted.as_ref().map(|redaction| &redaction.found_hash);
        let says = redacted.unwrap_or(&line.content_hash);
        if found == *says {
            return Ok(());
        }
        let problem = format!("has a payload that hashes to `{found}`, it says `{says}`");
        Err(self.lines.malformed(problem))
    }

    fn item(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else {
            return Err(self.lines.malformed("is an item where none is due"));
        };
        let ItemLine { text, hash, redacted } = self.line()?;
        self.check_hash(&hash)?;
        match &redacted {
            // Its running hash is that of the text as it was, which is not here.
            Some(redacted) if Hash::of(&text) == *redacted => {
                open.running = RunningHash::from_stored(hash.clone());
            }
            None if open.running.push(&text) == hash => {}
            _ => return Err(self.lines.malformed("has an item that is not what its hash says")),
        }
        self.archive.spool.push(self.lines.text()?)?;
        if let Some(list) = &mut self.archive.versions[open.version].list {
            list.add.push(hash.to_bytes().unwrap_or_default());
        }
        open.missing -= 1;
        if open.missing > 0 {
            self.open = Some(open);
        } else if open.expected != hash {
            return Err(self.lines.malformed("is the last item and has not the hash of the list"));
        }
        Ok(())
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
            if self.tx.is_some_and(|newest| newest > tx) {
                return Err(self
                    .lines
                    .malformed("is of an earlier transaction than the line before"));
            }
            self.close_transaction();
            self.tx = Some(tx);
            self.archive.transactions.push(Vec::new());
        }
        if !self.in_transaction.insert(id.clone()) {
            return Err(self
                .lines
                .malformed("has an object for the second time in its transaction"));
        }
        if let Some(members) = self.archive.transactions.last_mut() {
            members.push(member);
        }
        self.standing.insert(id.clone(), member.version);
        Ok(())
    }

    /// Notes what stood beside the sessions of the newest transaction.
    fn close_transaction(&mut self) {
        self.in_transaction.clear();
        let Some(members) = self.archive.transactions.last() else { return };
        for member in members.iter().filter(|member| member.is_new) {
            let entry = &self.archive.versions[member.version];
            if entry.kind == Some(ObjectType::Session) {
                let beside = entry.partner.as_ref().and_then(|id| self.standing.get(id)).copied();
                self.archive.versions[member.version].beside = beside;
            }
        }
    }

    fn nickname(&mut self) -> Result<()> {
        let NicknameLine { nickname, id } = self.line()?;
        let nickname = Nickname::parse(&nickname)
            .map_err(|error| self.lines.malformed(format!("has no nickname: {error}")))?;
        if !self.standing.contains_key(&id) {
            return Err(self.lines.malformed("names an object that no line before has"));
        }
        self.archive.nicknames.push((nickname, id));
        Ok(())
    }

    fn end(mut self) -> Result<Archive> {
        if self.open.is_some() {
            return Err(self.lines.malformed("stands where an item is due"));
        }
        let EndLine { lines, sha256 } = self.line()?;
        let before = self.lines.number() - 1;
        if lines != before {
            return Err(self.lines.malformed(format!("counts {lines} lines, there are {before}")));
        }
        let found = self.lines.hash_before();
        if found != sha256 {
            let problem = format!("says that the lines before hash to `{sha256}`, it is `{found}`");
            return Err(self.lines.malformed(problem));
        }
        self.close_transaction();
        self.archive.bytes = self.lines.bytes();
        if self.lines.advance()? {
            return Err(self.lines.malformed("stands behind the last one"));
        }
        Ok(self.archive)
    }
}

/// The envelope of a version; `None` where this program does not know its type or source.
pub(super) fn envelope(line: &VersionLine) -> Result<Option<Envelope>> {
    let Some(kind) = ObjectType::parse(&line.kind) else { return Ok(None) };
    let envelope = match &line.source {
        None => Envelope::unsourced(line.id.clone(), kind)?,
        Some(source) => match serde_json::from_value::<Source>(source.clone()) {
            Ok(source) => Envelope::sourced(kind, source)?,
            Err(_) => return Ok(None),
        },
    };
    // A source of a later program may have fields that this one would lose.
    Ok((envelope.identity_hash == line.identity_hash).then_some(envelope))
}

fn header(lines: &Lines<'_>) -> Result<Header> {
    let not_ours = || lines.malformed("is no header of an archive");
    let value: serde_json::Value = serde_json::from_str(lines.text()?).map_err(|_| not_ours())?;
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

fn read_again<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line)
        .map_err(|error| Error::internal(format!("a checked line cannot be read again: {error}")))
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
