//! Selects the objects to forget: one object, or everything that belongs to one session only.
//! Changes nothing.

use std::collections::{BTreeSet, HashMap, HashSet};

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::ForgetOptions;
use super::scan::{each_item, reference, session_of};
use crate::rules::objects;
use crate::{SqliteBackend, Store, Version, provided_id};
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, ObjectId, ObjectType, TxId};

/// The members by which items name an object.
pub(super) const NAMING: [&str; 2] = ["object", "active"];

/// The objects to forget, and a session's objects that stay because others know them.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) ids: Vec<ObjectId>,
    pub(super) kept: Vec<ObjectId>,
    /// Files that only the session knew: they lose their texts, and may be read again.
    pub(super) emptied: Vec<Envelope>,
    pub(super) is_session: bool,
}

impl Targets {
    /// The targets for an object; a chat stands for its session.
    pub(super) fn of(store: &Store, target: &ObjectId, options: ForgetOptions) -> Result<Self> {
        let mut version = store.require(target, AsOf::Latest)?;
        if version.envelope.kind == ObjectType::Chat
            && let Some(session) = reference(&version, "session_ref")
            && let Some(found) = store.get(&session, AsOf::Latest)?
        {
            version = found;
        }
        let mut targets = Self { ids: vec![version.envelope.id.clone()], ..Self::default() };
        if version.envelope.kind == ObjectType::Session {
            targets.is_session = true;
            targets.add_session(store, &version, options)?;
        }
        Ok(targets)
    }

    fn add_session(
        &mut self,
        store: &Store,
        session: &Version,
        options: ForgetOptions,
    ) -> Result<()> {
        for field in ["chat_ref", "system_prompt_ref"] {
            if let Some(id) = reference(session, field)
                && store.get(&id, AsOf::Latest)?.is_some()
            {
                // An imported copy of a session has the system prompt of the other.
                let stays = is_document_elsewhere(store, &session.envelope.id, field, &id)?;
                if stays { &mut self.kept } else { &mut self.ids }.push(id);
            }
        }
        let versions = store.history(&session.envelope.id)?;
        let met = met(store, &versions)?;
        let first = versions.last().map_or(session.tx_id, |version| version.tx_id);
        let callers = callers(store, &met)?;
        let mut elsewhere = named_elsewhere(store, &self.ids, &met, &callers)?;
        // What is about to lose its text is looked for in each event that may know it.
        let since = (!options.dry_run).then_some(first);
        let asked = callers.into_values().collect();
        met_elsewhere(store, &self.ids, &met, since, asked, &mut elsewhere)?;
        for id in met {
            let history = store.history(&id)?;
            let Some(latest) = history.first() else { continue };
            // A file that was also indexed does not belong to the session only.
            let indexed = history
                .iter()
                .any(|version| version.tx_id < first || version.tx_id > session.tx_id);
            let stays = match latest.envelope.kind {
                ObjectType::File => indexed || elsewhere.contains(&id),
                kind if kind.is_content() => !options.everywhere && elsewhere.contains(&id),
                _ => continue,
            };
            match latest.envelope.kind {
                _ if stays => self.kept.push(id),
                ObjectType::File => self.emptied.push(latest.envelope.clone()),
                _ => self.ids.push(id),
            }
        }
        Ok(())
    }
}

/// Whether another session's field names a document, too.
fn is_document_elsewhere(
    store: &Store,
    session: &ObjectId,
    field: &str,
    document: &ObjectId,
) -> Result<bool> {
    let indexes = store.upkeep("`forget`")?;
    let mut naming = indexes.objects_naming(document.as_str())?;
    naming.extend(indexes.objects_with_unindexed_relations()?);
    for id in naming.iter().filter(|id| *id != session) {
        let other = store.get(id, AsOf::Latest)?;
        let other = other.filter(|other| other.envelope.kind == ObjectType::Session);
        if other.and_then(|other| reference(&other, field)).as_ref() == Some(document) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The objects that a session's events refer to.
pub(crate) fn met(store: &Store, versions: &[Version]) -> Result<BTreeSet<ObjectId>> {
    let mut ids = BTreeSet::new();
    each_item(store, versions, |placed| {
        add_met(&placed.item.text, &mut ids);
        Ok(())
    })?;
    Ok(ids)
}

/// Adds the objects to which an event refers.
pub(crate) fn add_met(event: &str, ids: &mut BTreeSet<ObjectId>) {
    let event = serde_json::from_str(event).unwrap_or_default();
    for members in objects(&event) {
        let named = NAMING.iter().filter_map(|name| members.get(*name)?.as_str());
        ids.extend(named.map(ObjectId::new));
    }
}

/// The chats that have a call with the provider's ID of one of the objects, with their sessions.
/// Providers repeat IDs: only the session's events say which object that is.
fn callers(store: &Store, met: &BTreeSet<ObjectId>) -> Result<HashMap<ObjectId, ObjectId>> {
    let indexes = store.upkeep("`forget`")?;
    let mut calls = BTreeSet::new();
    for id in met {
        let latest = store.get(id, AsOf::Latest)?;
        if let Some(call) = latest.filter(|it| it.envelope.kind == ObjectType::Toolcall) {
            calls.insert(provided_id(&call).to_owned());
        }
    }
    let (mut chats, mut callers) = (BTreeSet::new(), HashMap::new());
    for call in calls {
        chats.extend(indexes.chats_calling(&call)?);
    }
    for chat in chats {
        if let Some(session) = session_of_chat(store, &chat)? {
            callers.insert(chat, session);
        }
    }
    Ok(callers)
}

/// The session of a chat, if the store has it.
pub(crate) fn session_of_chat(store: &Store, chat: &ObjectId) -> Result<Option<ObjectId>> {
    let latest = store.get(chat, AsOf::Latest)?;
    let Some(session) = latest.and_then(|chat| reference(&chat, "session_ref")) else {
        return Ok(None);
    };
    Ok(store.get(&session, AsOf::Latest)?.map(|session| session.envelope.id))
}

/// Which of the objects the chat or a tool call of another session names. Not asked: the chats whose
/// sessions' events say it.
fn named_elsewhere(
    store: &Store,
    own: &[ObjectId],
    met: &BTreeSet<ObjectId>,
    callers: &HashMap<ObjectId, ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let indexes = store.upkeep("`forget`")?;
    let mut found = HashSet::new();
    for id in met {
        let says_otherwise = |naming: &ObjectId| Ok(callers.contains_key(naming));
        if is_named(store, indexes, id, says_otherwise, |document| !own.contains(document))? {
            found.insert(id.clone());
        }
    }
    Ok(found)
}

/// Whether a document that counts names an object, or a call of it does; of those that `is_left_out`
/// none is asked.
pub(crate) fn is_named(
    store: &Store,
    indexes: &SqliteBackend,
    id: &ObjectId,
    is_left_out: impl Fn(&ObjectId) -> Result<bool>,
    counts: impl Fn(&ObjectId) -> bool,
) -> Result<bool> {
    for naming in indexes.objects_naming(id.as_str())? {
        let latest = if is_left_out(&naming)? { None } else { store.get(&naming, AsOf::Latest)? };
        if latest.as_ref().and_then(session_of).is_some_and(|document| counts(&document)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds those of the objects that another session's events refer to: one of these sessions, one that
/// is in no index yet, or that was written since a transaction.
fn met_elsewhere(
    store: &Store,
    own: &[ObjectId],
    met: &BTreeSet<ObjectId>,
    since: Option<TxId>,
    mut asked: HashSet<ObjectId>,
    found: &mut HashSet<ObjectId>,
) -> Result<()> {
    let indexes = store.upkeep("`forget`")?;
    asked.extend(indexes.objects_with_unindexed_relations()?);
    let quoted: Vec<String> = met.iter().map(|id| Value::from(id.as_str()).to_string()).collect();
    let marks = AhoCorasick::new(&quoted)
        .map_err(|error| Error::internal(format!("IDs cannot be looked for: {error}")))?;
    for (id, written, _) in store.last_written(ObjectType::Session)? {
        let is_new = since.is_some_and(|since| written >= since);
        if own.contains(&id) || !(is_new || asked.contains(&id)) {
            continue;
        }
        each_item(store, &store.history(&id)?, |placed| {
            // An ID that stands there may be the one that a provider gave to another call.
            if marks.is_match(&placed.item.text) {
                let mut named = BTreeSet::new();
                add_met(&placed.item.text, &mut named);
                found.extend(named.into_iter().filter(|id| met.contains(id)));
            }
            Ok(())
        })?;
    }
    Ok(())
}
