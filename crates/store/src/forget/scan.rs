//! Finds where a text occurs in a store, reading every version and item once. Changes nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::forgotten_lines::{ForgottenLines, strings};
use super::targets::NAMING;
use crate::{PlacedItem, Store, Version};
use base::error::{Error, Result};
use base::object::item::partner;
use base::object::{AsOf, Hash, ObjectId, ObjectType, Source, TxId};

/// Objects read at once.
pub(crate) const PAGE: usize = 200;

/// Items read at once.
const ITEMS: u64 = 1_000;

/// Calls `each` with every item that was ever in an object's list.
pub(crate) fn each_item(
    store: &Store,
    versions: &[Version],
    mut each: impl FnMut(PlacedItem) -> Result<()>,
) -> Result<()> {
    let longest = versions.iter().map(|version| version.item_count).max().unwrap_or_default();
    let Some(version) = versions.first() else { return Ok(()) };
    let mut start = 0;
    while start < longest {
        let end = (start + ITEMS).min(longest);
        for placed in store.backend().placed_items(&version.envelope.id, start..end)? {
            each(placed)?;
        }
        start = end;
    }
    Ok(())
}

/// An object that holds some of the lines, or refers to a forgotten object.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: ObjectId,
    pub(super) kind: ObjectType,
    /// Its chat or session.
    pub(super) session: Option<ObjectId>,
    /// The other document of its session, for a chat or a session.
    pub(super) partner: Option<ObjectId>,
    /// Whether it refers to a forgotten object.
    pub(super) refers: bool,
    /// Lines that occur anywhere in it.
    pub(super) inside: BTreeSet<usize>,
    /// Lines that are whole lines of one of its texts.
    pub(super) whole: BTreeSet<usize>,
    /// Whether one of its texts is largely a copy of the forgotten one.
    pub(super) is_copy: bool,
    /// Versions that hold lines in content, additional contents or fields.
    pub(super) versions: Vec<TxId>,
    /// Items that hold lines, by position and first transaction.
    pub(super) items: Vec<(u64, TxId)>,
    /// Contents that it shares with the forgotten objects.
    pub(super) contents: BTreeSet<Hash>,
}

/// What a scan found.
pub(super) struct Scanned {
    pub(super) held: Vec<Held>,
    /// Lines that are paths, or ends of paths, of files that stay.
    pub(super) paths: BTreeSet<usize>,
    /// Number of lines that were not looked for, since no index has them.
    pub(super) unsearched: usize,
    /// Whether a line that goes stands in so many other objects that they were not all looked for.
    pub(super) is_cut: bool,
}

/// A scan: what it looks for, and its caches.
pub(super) struct Scan<'a> {
    pub(super) store: &'a Store,
    pub(super) lines: &'a ForgottenLines,
    /// The forgotten objects, which are skipped.
    pub(super) targets: &'a HashSet<ObjectId>,
    /// Contents of the forgotten objects.
    pub(super) contents: &'a HashSet<Hash>,
    /// References to the targets, as they are written in JSON.
    marks: AhoCorasick,
    /// Lines that are paths, or ends of paths, of files that stay.
    pub(super) paths: BTreeSet<usize>,
    /// Texts by hash: several versions share one.
    known: HashMap<Hash, Rc<LinesInText>>,
}

#[derive(Debug, Default)]
struct LinesInText {
    inside: BTreeSet<usize>,
    whole: BTreeSet<usize>,
    is_copy: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(
        store: &'a Store,
        lines: &'a ForgottenLines,
        targets: &'a HashSet<ObjectId>,
        contents: &'a HashSet<Hash>,
    ) -> Result<Self> {
        let mut marks = Vec::new();
        for id in targets {
            let named = Value::from(id.as_str()).to_string();
            let latest = store.get(id, AsOf::Latest)?;
            if latest.is_some_and(|it| it.envelope.kind == ObjectType::Toolcall) {
                // Elsewhere it is what a provider called any call. Several are named in a list.
                marks.extend(NAMING.map(|member| format!("\"{member}\":{named}")));
                marks.extend(['[', ','].map(|before| format!("{before}{named}")));
            } else {
                marks.push(named);
            }
        }
        let marks = AhoCorasick::new(marks)
            .map_err(|error| Error::argument("target", format!("has too many objects: {error}")))?;
        let (paths, known) = (BTreeSet::new(), HashMap::new());
        Ok(Self { store, lines, targets, contents, marks, paths, known })
    }

    /// Finds all objects that hold lines or refer to the targets, by reading everything.
    pub(super) fn run(mut self) -> Result<Scanned> {
        let mut held = Vec::new();
        for kind in ObjectType::ALL {
            for page in self.store.pages(kind, PAGE) {
                for version in page? {
                    held.extend(self.object(&self.store.history(&version.envelope.id)?)?);
                }
            }
        }
        Ok(Scanned { held, paths: self.paths, unsearched: 0, is_cut: false })
    }

    pub(super) fn object(&mut self, versions: &[Version]) -> Result<Option<Held>> {
        let Some(latest) = versions.first() else { return Ok(None) };
        if self.targets.contains(&latest.envelope.id) {
            return Ok(None);
        }
        self.path(latest);
        let mut held = Held {
            id: latest.envelope.id.clone(),
            kind: latest.envelope.kind,
            session: session_of(latest),
            partner: partner(latest.envelope.kind, &latest.fields),
            refers: false,
            inside: BTreeSet::new(),
            whole: BTreeSet::new(),
            is_copy: false,
            versions: Vec::new(),
            items: Vec::new(),
            contents: BTreeSet::new(),
        };
        for version in versions {
            if self.version(version, &mut held)? {
                held.versions.push(version.tx_id);
            }
        }
        each_item(self.store, versions, |placed| {
            held.refers |= self.refers(&placed.item.text);
            let mut inside = BTreeSet::new();
            self.item(&placed.item.text, &mut inside, &mut held.whole);
            if !inside.is_empty() {
                held.items.push((placed.position, placed.from));
                held.inside.extend(inside);
            }
            Ok(())
        })?;
        // A list that shares half of the text is a copy: a fork.
        held.is_copy |= held.whole.len() * 2 >= self.lines.count().max(1);
        let concerned = held.refers || !held.inside.is_empty() || !held.contents.is_empty();
        Ok(concerned.then_some(held))
    }

    /// Notes which lines are the path of a file, or an end of it.
    pub(super) fn path(&mut self, file: &Version) {
        if let Some(path) = file.envelope.source.as_ref().and_then(Source::path) {
            let ends = path.match_indices('/').flat_map(|(at, _)| [&path[at..], &path[at + 1..]]);
            self.paths.extend(ends.filter_map(|end| self.lines.number(end)));
        }
    }

    fn refers(&self, json: &str) -> bool {
        self.marks.is_match(json)
    }

    fn version(&mut self, version: &Version, held: &mut Held) -> Result<bool> {
        let mut holds = false;
        for hash in version.content.iter().chain(version.additional.values()) {
            if self.contents.contains(hash) {
                held.contents.insert(hash.clone());
                holds = true;
            }
            let found = self.content(hash)?;
            holds |= !found.inside.is_empty();
            held.inside.extend(&found.inside);
            held.whole.extend(&found.whole);
            held.is_copy |= found.is_copy;
        }
        let mut inside = BTreeSet::new();
        let fields = Value::Object(version.fields.clone());
        held.refers |= self.refers(&fields.to_string());
        strings(fields, &mut |text| {
            self.lines.find(text, &mut inside, &mut held.whole);
        });
        holds |= !inside.is_empty();
        held.inside.extend(inside);
        Ok(holds)
    }

    pub(super) fn item(
        &self,
        item: &str,
        inside: &mut BTreeSet<usize>,
        whole: &mut BTreeSet<usize>,
    ) {
        let mut look = |text: &str| {
            self.lines.find(text, inside, whole);
        };
        match serde_json::from_str::<Value>(item) {
            Ok(value) => strings(value, &mut look),
            Err(_) => look(item),
        }
    }

    fn content(&mut self, hash: &Hash) -> Result<Rc<LinesInText>> {
        if let Some(found) = self.known.get(hash) {
            return Ok(Rc::clone(found));
        }
        let text = self.store.backend().content(hash)?.unwrap_or_default();
        let mut found = LinesInText::default();
        let count = self.lines.find(&text, &mut found.inside, &mut found.whole);
        let shared = found.whole.len() * 2;
        found.is_copy = count > 0 && (shared >= count || shared >= self.lines.count());
        let found = Rc::new(found);
        self.known.insert(hash.clone(), Rc::clone(&found));
        Ok(found)
    }
}

/// The chat or session that a version belongs to.
pub(crate) fn session_of(version: &Version) -> Option<ObjectId> {
    if matches!(version.envelope.kind, ObjectType::Session | ObjectType::Chat) {
        return Some(version.envelope.id.clone());
    }
    ["session_ref", "chat_ref"].iter().find_map(|field| reference(version, field))
}

/// The object that a field of a version names.
pub(crate) fn reference(version: &Version, field: &str) -> Option<ObjectId> {
    version.fields.get(field)?.as_str().map(ObjectId::new)
}
