//! A whole archive: an index of its contents, and access to its lines. Must not know what the store
//! holds.

use std::collections::{BTreeMap, HashMap};

use serde::de::DeserializeOwned;

use super::archive_lines::{Extent, Spool};
use super::format::{ContentLine, Header, VersionLine};
use super::incoming::{Arrivals, Call, Incoming};
use crate::Item;
use base::error::{Error, Result};
use base::object::{Envelope, Hash, ObjectId, ObjectType, Source};

/// An archive that was completely read and checked.
pub(super) struct Archive {
    pub header: Header,
    pub arrivals: Arrivals,
    /// Where each version's line and items are.
    pub places: Vec<Lined>,
    /// Lines of kinds that this program does not know, by kind.
    pub unknown_lines: BTreeMap<String, u64>,
    /// Bytes read, uncompressed.
    pub bytes: u64,
    /// Places of the content lines in the spool.
    pub contents: HashMap<Hash, Extent>,
    pub spool: Spool,
    /// The last content read; the next version often has it too.
    pub recent: Option<(Hash, String)>,
}

/// Where a version's line and items are.
#[derive(Debug, Clone)]
pub(super) struct Lined {
    pub line: Extent,
    pub list: Option<List>,
}

/// The items of a version: the first `keep` of another version, then its own.
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
    pub(super) fn new(header: Header) -> Result<Self> {
        Ok(Self {
            header,
            arrivals: Arrivals::default(),
            places: Vec::new(),
            unknown_lines: BTreeMap::new(),
            bytes: 0,
            contents: HashMap::new(),
            spool: Spool::new()?,
            recent: None,
        })
    }

    /// The running hash of a version's list up to and including `position`; `None` if the list is
    /// shorter.
    pub(super) fn running_hash(&self, version: usize, position: u64) -> Option<Hash> {
        let mut list = self.places[version].list.as_ref()?;
        if position >= list.len() {
            return None;
        }
        while position < list.keep {
            list = self.places[list.base?].list.as_ref()?;
        }
        let bytes = list.add.get(usize::try_from(position - list.keep).ok()?)?;
        Some(Hash::from_bytes(bytes))
    }

    /// Reads `count` of the items after a version's line, without the first `skip`.
    fn own_items(
        &mut self,
        version: usize,
        skip: u64,
        count: u64,
        items: &mut Vec<Item>,
    ) -> Result<()> {
        let (skip, count) = (index(skip), index(count));
        let behind = self.places[version].line.end() + 1;
        for line in self.spool.lines_from(behind)?.skip(skip).take(count) {
            items.push(read_again(&line?)?);
        }
        Ok(())
    }
}

impl Incoming for Archive {
    fn version(&mut self, version: usize) -> Result<VersionLine> {
        let line = self.spool.read(self.places[version].line)?;
        read_again(&line)
    }

    fn call(&mut self, _id: &ObjectId, latest: Option<usize>) -> Result<Option<Call>> {
        let line = latest.map(|at| self.version(at)).transpose()?;
        Ok(line.map(|line| (line.fields, line.redacted.is_some())))
    }

    fn content(&mut self, hash: &Hash) -> Result<String> {
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

    fn hash_at(&self, version: usize, position: u64) -> Result<Option<Hash>> {
        Ok(self.running_hash(version, position))
    }

    fn items(&mut self, version: usize, from: u64) -> Result<Vec<Item>> {
        // The versions whose own items are part of this list, each with their range in it.
        let mut parts = Vec::new();
        let (mut at, mut end) = (Some(version), u64::MAX);
        while let Some(version) = at {
            let Some(list) = &self.places[version].list else { break };
            let until = end.min(list.len());
            if until > list.keep {
                parts.push((version, from.max(list.keep)..until));
            }
            end = end.min(list.keep);
            at = list.base.filter(|_| end > from);
        }
        let mut items = Vec::new();
        for (version, range) in parts.into_iter().rev().filter(|(_, range)| !range.is_empty()) {
            let keep = self.places[version].list.as_ref().map_or(0, |list| list.keep);
            self.own_items(version, range.start - keep, range.end - range.start, &mut items)?;
        }
        Ok(items)
    }
}

/// The envelope of a version; `None` if this program does not know its type or source.
pub(super) fn envelope(line: &VersionLine) -> Result<Option<Envelope>> {
    let Some(kind) = ObjectType::parse(&line.kind) else { return Ok(None) };
    let envelope = match &line.source {
        None if is_nameless(line) => Envelope::nameless(kind, line.identity_hash.clone()),
        None => Envelope::unsourced(line.id.clone(), kind)?,
        Some(source) => match serde_json::from_value::<Source>(source.clone()) {
            Ok(source) => Envelope::sourced(kind, source)?,
            Err(_) => return Ok(None),
        },
    };
    // A source of a later release may have fields that this one would lose.
    Ok((envelope.identity_hash == line.identity_hash).then_some(envelope))
}

/// Whether a version is of an object whose source was forgotten: no text is left of it, and its ID
/// is the hash of what it was.
pub(super) fn is_nameless(line: &VersionLine) -> bool {
    let has_text = line.content.is_some() || !line.additional.is_empty();
    let is_bare = line.source.is_none() && line.redacted.is_some() && !has_text;
    is_bare && line.id.as_str() == line.identity_hash.as_str()
}

fn read_again<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line)
        .map_err(|error| Error::internal(format!("a checked line cannot be read again: {error}")))
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
