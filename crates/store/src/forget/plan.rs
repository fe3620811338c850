//! Plans all changes of a forget before anything is changed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::find::{Count, Find, count};
use super::forgotten_lines::{Collector, ForgottenLines, MARK};
use super::scan::{Held, Scan, Scanned, each_item, reference, session_of};
use super::targets::Targets;
use super::{ForgetOptions, ForgetReport, Holder, HostSession};
use crate::{Change, Item, PlacedItem, Replacement, SearchedOutputs, Store, Version};
use base::error::Result;
use base::object::{
    AsOf, Hash, ObjectId, ObjectType, Payload, Redaction, RedactionReason, Source, TxId,
};

/// Contents shorter than this may be stored again: they occur anywhere.
const BANNED_CHARS: usize = 32;

pub(super) struct Plan {
    pub(super) report: ForgetReport,
    pub(super) replacements: Vec<Replacement>,
    /// Contents that must not be stored again.
    pub(super) banned: Vec<Hash>,
    lines: ForgottenLines,
    ids: HashSet<ObjectId>,
    contents: HashSet<Hash>,
}

impl Plan {
    pub(super) fn make(store: &Store, targets: &Targets, options: ForgetOptions) -> Result<Self> {
        let mut gone = Gone::default();
        for id in &targets.ids {
            gone.add(store, id)?;
            let change = Change::Nameless;
            gone.replacements.push(vec![Replacement { id: id.clone(), change }]);
        }
        for file in &targets.emptied {
            gone.add(store, &file.id)?;
        }
        let lines = ForgottenLines::new(std::mem::take(&mut gone.lines))?;
        let emptied = targets.emptied.iter().map(|file| &file.id);
        let ids: HashSet<ObjectId> = targets.ids.iter().chain(emptied.clone()).cloned().collect();
        let contents: HashSet<Hash> = gone.contents.keys().cloned().collect();
        let scan = Scan::new(store, &lines, &ids, &contents)?;
        let indexes = store.upkeep("`forget`")?;
        let scanned = if options.everywhere || indexes.searched_outputs()? != SearchedOutputs::All {
            scan.run()?
        } else {
            Find::new(scan, indexes, targets.is_session).run()?
        };
        let Scanned { held, paths, unsearched, is_cut } = scanned;
        let own = if targets.is_session { BTreeSet::new() } else { own(&held) };
        let goes = goes(&lines, &held, &own, paths, targets.is_session);
        let count = |wanted: bool| goes.iter().filter(|goes| **goes == wanted).count() as u64;
        let mut report = ForgetReport {
            dry_run: options.dry_run,
            versions: gone.versions,
            items: gone.items,
            text_bytes: gone.text_bytes,
            emptied: emptied.cloned().collect(),
            objects: targets.ids.clone(),
            kept: targets.kept.clone(),
            lines: count(true),
            common_lines: count(false),
            unsearched_lines: unsearched as u64,
            more_holders: is_cut,
            ..ForgetReport::default()
        };
        let mut rest = Rest { store, lines: &lines, goes: &goes, replacements: Vec::new() };
        let mut shared = HashSet::new();
        for held in &held {
            let is_own = own.contains(&held.id);
            let holder = rest.holder(held);
            let rewritten = (is_own || options.everywhere) && rest.rewrite(held, is_own)?;
            if is_own || rewritten {
                gone.sessions.extend(held.session.clone());
            }
            if rewritten {
                report.rewritten.extend(holder);
            } else {
                shared.extend(&held.contents);
                report.holders.extend(holder);
            }
        }
        report.holders.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.object.cmp(&b.object)));
        report.hosts = host_sessions(store, &gone.sessions)?;
        let mut replacements = rest.replacements;
        // What was met first, a session's own document, goes last: it says what else there is.
        replacements.extend(std::mem::take(&mut gone.replacements).into_iter().rev().flatten());
        let alone = gone.contents_of_nobody_else(&shared, &mut report);
        // The session itself is refused from now on, but its texts may return from elsewhere, such
        // as a file that is read.
        let banned = if targets.is_session { Vec::new() } else { alone };
        Ok(Self { report, replacements, banned, lines, ids, contents })
    }

    /// Whether anything written after a transaction concerns what is forgotten, so that a new plan
    /// may be another one. A plan says what stands where, and that only changes by writing.
    pub(super) fn is_touched(&self, store: &Store, after: TxId) -> Result<bool> {
        let mut scan = Scan::new(store, &self.lines, &self.ids, &self.contents)?;
        let written = store.changes(after, usize::MAX)?;
        let written: BTreeSet<ObjectId> = written.into_iter().map(|it| it.envelope.id).collect();
        for id in written {
            if self.ids.contains(&id) || scan.object(&store.history(&id)?)?.is_some() {
                return Ok(true);
            }
        }
        Ok(!scan.paths.is_empty())
    }
}

/// Objects that are removed completely.
#[derive(Default)]
struct Gone {
    lines: Collector,
    /// Contents with their bytes and characters.
    contents: BTreeMap<Hash, (u64, usize)>,
    sessions: BTreeSet<ObjectId>,
    versions: u64,
    items: u64,
    text_bytes: u64,
    /// Those of each object, in the order of the objects.
    replacements: Vec<Vec<Replacement>>,
}

impl Gone {
    fn add(&mut self, store: &Store, id: &ObjectId) -> Result<()> {
        let versions = store.history(id)?;
        let mut replacements = Vec::new();
        each_item(store, &versions, |placed| {
            replacements.push(self.add_item(id, placed));
            Ok(())
        })?;
        for version in &versions {
            replacements.push(self.add_version(store, version)?);
            self.add_words(store, version)?;
        }
        self.replacements.push(replacements);
        self.sessions.extend(versions.first().and_then(session_of));
        Ok(())
    }

    fn add_version(&mut self, store: &Store, version: &Version) -> Result<Replacement> {
        for hash in version.content.iter().chain(version.additional.values()) {
            if !self.contents.contains_key(hash) {
                let text = store.backend().content(hash)?.unwrap_or_default();
                self.lines.add_text(&text);
                self.contents.insert(hash.clone(), (text.len() as u64, text.chars().count()));
            }
        }
        self.lines.add_fields(&version.fields);
        match &version.envelope.source {
            Some(Source::Filesystem { path, .. }) => self.lines.add_text(path),
            Some(Source::Other(fields)) => self.lines.add_fields(fields),
            None => {}
        }
        self.versions += 1;
        self.text_bytes += Value::Object(version.fields.clone()).to_string().len() as u64;
        let nothing = Payload { source_hash: version.source_hash.clone(), ..Payload::default() };
        replacement(version, &nothing)
    }

    /// Adds the lines of the messages that a chat segment names. The chat keeps the messages,
    /// without these lines.
    fn add_words(&mut self, store: &Store, version: &Version) -> Result<()> {
        let position = |name: &str| version.fields.get(name).and_then(Value::as_u64);
        let ends = position("first_message").zip(position("last_message"));
        let is_segment = version.envelope.kind == ObjectType::ChatSegment;
        let Some((first, last)) = ends.filter(|_| is_segment) else { return Ok(()) };
        let (chat, at) = (reference(version, "chat_ref"), AsOf::Tx(version.tx_id));
        let Some(chat) = chat else { return Ok(()) };
        if store.get(&chat, at)?.is_some() {
            for item in store.items(&chat, at, first..last.saturating_add(1))? {
                self.lines.add_item(&item);
            }
        }
        Ok(())
    }

    fn add_item(&mut self, id: &ObjectId, placed: PlacedItem) -> Replacement {
        self.lines.add_item(&placed.item.text);
        self.items += 1;
        self.text_bytes += placed.item.text.len() as u64;
        // Written as a JSON string, since readers expect JSON.
        let text = Value::from(MARK).to_string();
        item_replacement(id, placed, text)
    }

    /// Counts the contents that nothing else refers to, and returns those long enough to be
    /// recognised.
    fn contents_of_nobody_else(
        self,
        shared: &HashSet<&Hash>,
        report: &mut ForgetReport,
    ) -> Vec<Hash> {
        let mut banned = Vec::new();
        for (hash, (bytes, chars)) in self.contents {
            if shared.contains(&hash) {
                continue;
            }
            report.contents += 1;
            report.text_bytes += bytes;
            if chars >= BANNED_CHARS {
                banned.push(hash);
            }
        }
        banned
    }
}

/// Documents about the forgotten objects: those that refer to them, and for a session's document
/// also its other half.
pub(super) fn own<'a>(held: impl IntoIterator<Item = &'a Held>) -> BTreeSet<ObjectId> {
    let refer = held.into_iter().filter(|held| held.refers);
    refer.flat_map(|held| [Some(held.id.clone()), held.partner.clone()]).flatten().collect()
}

/// Which lines to remove, by number.
fn goes(
    lines: &ForgottenLines,
    held: &[Held],
    own: &BTreeSet<ObjectId>,
    mut stays: BTreeSet<usize>,
    is_session: bool,
) -> Vec<bool> {
    let mut counts = vec![Count::default(); lines.count()];
    for held in held {
        count(held, is_session, own, &mut counts, &mut stays);
    }
    let is_common = |line: usize| counts[line].is_common(lines, line);
    let goes = |line| !stays.contains(&line) && (!is_common(line) || lines.looks_like_key(line));
    (0..lines.count()).map(goes).collect()
}

/// Objects that stay, without the lines to be removed.
struct Rest<'a> {
    store: &'a Store,
    lines: &'a ForgottenLines,
    goes: &'a [bool],
    replacements: Vec<Replacement>,
}

impl Rest<'_> {
    fn holder(&self, held: &Held) -> Option<Holder> {
        let goes = |line: &&usize| self.goes.get(**line).copied().unwrap_or_default();
        let lines = held.inside.iter().filter(goes).count();
        let all = self.goes.iter().filter(|goes| **goes).count();
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        (lines > 0).then(|| Holder {
            object: held.id.clone(),
            kind: held.kind,
            session: held.session.clone(),
            versions: held.versions.len() as u64,
            items: held.items.len() as u64,
            lines: lines as u64,
            share: lines as f64 / all as f64,
        })
    }

    /// Removes the lines from an object; returns whether it held any.
    fn rewrite(&mut self, held: &Held, is_own: bool) -> Result<bool> {
        let before = self.replacements.len();
        for tx_id in &held.versions {
            let version = self.store.require(&held.id, AsOf::Tx(*tx_id))?;
            self.rewrite_version(&version, is_own)?;
        }
        let places: HashSet<_> = held.items.iter().copied().collect();
        let ends = held.items.iter().map(|(position, _)| *position);
        let (Some(first), Some(last)) = (ends.clone().min(), ends.max()) else {
            return Ok(self.replacements.len() > before);
        };
        for placed in self.store.backend().placed_items(&held.id, first..last + 1)? {
            let holds = places.contains(&(placed.position, placed.from));
            let text = holds
                .then(|| self.lines.replaced_item(&placed.item.text, self.goes, is_own))
                .flatten();
            if let Some(text) = text {
                self.replacements.push(item_replacement(&held.id, placed, text));
            }
        }
        Ok(self.replacements.len() > before)
    }

    fn rewrite_version(&mut self, version: &Version, is_own: bool) -> Result<()> {
        let replaced = |text: &str| self.lines.replaced(text, self.goes, is_own);
        let mut payload = self.store.payload(version)?;
        let content = payload.content.as_deref().and_then(replaced);
        let mut changed = content.is_some();
        payload.content = content.or(payload.content);
        for text in payload.additional.values_mut() {
            if let Some(without) = self.lines.replaced(text, self.goes, is_own) {
                *text = without;
                changed = true;
            }
        }
        let mut fields = Value::Object(std::mem::take(&mut payload.fields));
        changed |= self.lines.replace_json(&mut fields, self.goes, is_own);
        if let Value::Object(fields) = fields {
            payload.fields = fields;
        }
        if changed {
            self.replacements.push(replacement(version, &payload)?);
        }
        Ok(())
    }
}

/// Replaces the payload of a version.
fn replacement(version: &Version, payload: &Payload) -> Result<Replacement> {
    let hashed = |text: &String| (Hash::of(text), text.clone());
    let found_hash = payload.content_hash(version.items_hash.as_ref())?;
    let change = Change::Version {
        tx_id: version.tx_id,
        fields: Map::clone(&payload.fields),
        content: payload.content.as_ref().map(hashed),
        additional: payload
            .additional
            .iter()
            .map(|(name, text)| (name.clone(), hashed(text)))
            .collect(),
        redacted: Some(Redaction { reason: RedactionReason::Forgotten, found_hash }),
    };
    Ok(Replacement { id: version.envelope.id.clone(), change })
}

/// Replaces the text of an item; its running hash stays.
fn item_replacement(id: &ObjectId, placed: PlacedItem, text: String) -> Replacement {
    let PlacedItem { position, from, item, .. } = placed;
    let redacted = Some(Hash::of(&text));
    let item = Item { text, running_hash: item.running_hash, redacted };
    Replacement { id: id.clone(), change: Change::Item { position, from, item } }
}

/// The hosts' names for the sessions of these chats and sessions.
fn host_sessions(store: &Store, documents: &BTreeSet<ObjectId>) -> Result<Vec<HostSession>> {
    let mut hosts = BTreeSet::new();
    for id in documents {
        let Some(mut version) = store.get(id, AsOf::Latest)? else { continue };
        if let Some(session) = reference(&version, "session_ref") {
            let Some(found) = store.get(&session, AsOf::Latest)? else { continue };
            version = found;
        }
        let field = |name: &str| version.fields.get(name)?.as_str().map(str::to_owned);
        if let (Some(harness), Some(host_session)) = (field("harness"), field("host_session")) {
            hosts.insert(HostSession { harness, host_session });
        }
    }
    Ok(hosts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expected;
    use base::object::Envelope;

    fn put(store: &Store, id: &str, text: &str) -> TxId {
        let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
        let payload = Payload { content: Some(text.to_owned()), ..Payload::default() };
        let mut transaction = store.begin();
        transaction.put(envelope, payload, Expected::Any).unwrap();
        transaction.commit().unwrap().tx_id
    }

    #[test]
    fn only_what_concerns_the_forgotten_asks_for_a_new_plan() {
        let store = Store::open(":memory:").unwrap();
        let before = put(&store, "gone", "the line that is to be forgotten\n");
        let (id, options) = (ObjectId::new("gone"), ForgetOptions::default());
        let plan = Plan::make(&store, &Targets::of(&store, &id, options).unwrap(), options);
        let plan = plan.unwrap();
        assert!(!plan.is_touched(&store, before).unwrap());
        let other = put(&store, "other", "a line of something else\n");
        assert!(!plan.is_touched(&store, before).unwrap());
        let same = put(&store, "same", "he said: the line that is to be forgotten\n");
        assert!(plan.is_touched(&store, other).unwrap());
        assert!(!plan.is_touched(&store, same).unwrap());
        put(&store, "gone", "another text\n");
        assert!(plan.is_touched(&store, same).unwrap());
    }
}
