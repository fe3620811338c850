//! Where a session begins: anew, from what is stored, as a fork, or as a branch beside another process.

use serde_json::json;
use uuid::Uuid;

use super::commit::{ChatChange, Staged, Stored};
use super::withhold::is_forgotten;
use super::{LiveSession, OpenSession, chat_item, record};
use crate::context::evidence::Evidence;
use crate::context::view::View;
use crate::error::{Error, Result};
use crate::object::{AsOf, Envelope, Hash, ObjectId, ObjectType};
use crate::session::{Event, Opened, Session};
use crate::store::{Expected, Store, Version};

/// Sessions that parted from one, of which the newest is looked for.
const MAX_PARTED: usize = 64;

/// IDs of the session's infrastructure objects.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    pub(super) session: ObjectId,
    pub(super) chat: ObjectId,
    pub(super) prompt: ObjectId,
}

impl Ids {
    pub(super) fn of(key: &str) -> Self {
        Self {
            session: ObjectId::session(key),
            chat: ObjectId::chat(key),
            prompt: ObjectId::system_prompt(key),
        }
    }

    /// Those of the session of a key that is to be gone on with.
    pub(super) fn stored(store: &Store, options: &OpenSession, key: &str) -> Result<Self> {
        Ok(Self::of(&newest_of(store, options, key)?))
    }

    pub(super) fn contain(&self, id: &ObjectId) -> bool {
        [&self.session, &self.chat, &self.prompt].contains(&id)
    }
}

impl LiveSession {
    /// Starts the session, with the parent's events before its own where it is a fork.
    pub(super) fn begin(&mut self) -> Result<()> {
        let mut parent = None;
        if let Some(host_session) = self.options.parent.clone() {
            let options = OpenSession { host_session, parent: None, ..self.options.clone() };
            let ids = Ids::stored(&self.store, &options, &session_key(&self.store, &options)?)?;
            let version = self.store.get(&ids.session, AsOf::Latest)?;
            if let Some(version) = version.filter(|version| !is_forgotten(version)) {
                parent = Some((ids, AsOf::Tx(version.tx_id)));
            }
        }
        match self.start(parent) {
            // Another process started the session at the same moment.
            Err(Error::Conflict { id, .. }) if self.ids.contain(&id) => self.reload(),
            result => result,
        }
    }

    /// Goes on as a session of its own, with all that was before: another process writes to the session as well.
    pub(super) fn part(&mut self) -> Result<()> {
        let Some(at) = self.stored.session else {
            return Err(Error::internal("nothing to part from"));
        };
        let mark = Uuid::new_v4().simple().to_string();
        let ids = Ids::of(&format!("{}+{}", self.key, &mark[..8]));
        let from = std::mem::replace(&mut self.ids, ids);
        let stored = std::mem::take(&mut self.stored);
        let result = self.start(Some((from.clone(), AsOf::Tx(at))));
        if result.is_err() {
            (self.ids, self.stored, self.stale) = (from, stored, true);
        }
        result
    }

    /// Whether another process wrote to the session after this one.
    pub(super) fn has_moved_on(&self) -> Result<bool> {
        let latest = self.store.get(&self.ids.session, AsOf::Latest)?;
        Ok(latest.map(|version| version.tx_id) != self.stored.session)
    }

    /// Reads the state from the store again, as this process left it.
    pub(super) fn reload(&mut self) -> Result<()> {
        self.staged = Staged::default();
        self.reconcile.drop_staged();
        self.view = View::default();
        self.volatile.clear();
        self.lines = None;
        self.evidence = Evidence::default();
        let at = self.stored.session.map_or(AsOf::Latest, AsOf::Tx);
        let session = self.store.get(&self.ids.session, at)?;
        let at = session.as_ref().map_or(at, |session| AsOf::Tx(session.tx_id));
        let events = match session {
            Some(_) => record::read_events(&self.store, &self.ids.session, at)?,
            None => Vec::new(),
        };
        self.state = Session::replay(&events);
        self.stored = Stored {
            session: session.map(|version| version.tx_id),
            events: events.len() as u64,
            chat: self.store.get(&self.ids.chat, at)?.map(|version| version.tx_id),
            prompt: self.store.get(&self.ids.prompt, at)?.map(|version| version.content_hash),
        };
        self.recorded = record::recorded_slots(&events);
        self.recorded_marks = self.recorded.iter().map(|slot| self.mark(slot)).collect();
        self.payloads.read_again(&events);
        self.pending = self.unanswered_calls()?;
        self.stale = false;
        Ok(())
    }

    /// Reads the state again if an error left it in doubt.
    pub(super) fn refresh_if_stale(&mut self) -> Result<()> {
        if self.stale { self.reload() } else { Ok(()) }
    }

    /// Writes the first versions of the session's documents.
    fn start(&mut self, parent: Option<(Ids, AsOf)>) -> Result<()> {
        self.staged = Staged::default();
        self.state = Session::default();
        if let Some((ids, at)) = &parent {
            self.inherit(ids, *at)?;
        }
        self.record(Event::Opened(Opened {
            harness: self.options.harness.clone(),
            host_session: self.options.host_session.clone(),
            cwd: self.canonical_cwd().to_string_lossy().into_owned(),
            time: self.store.now(),
            forked_from: parent.map(|(ids, _)| ids.session),
        }));
        self.commit()?;
        self.reload()
    }

    /// Takes over index, sets, handles, chat and system prompt of another session, as of a transaction.
    fn inherit(&mut self, from: &Ids, at: AsOf) -> Result<()> {
        let prompts = self.inherit_prompt(from, at)?;
        for mut event in record::read_events(&self.store, &from.session, at)? {
            // The prompt is the same, and so is what the provider's cache holds.
            if let (Event::Called(call), Some((theirs, ours))) = (&mut event, &prompts)
                && call.system_prompt.as_ref() == Some(theirs)
            {
                call.system_prompt = Some(ours.clone());
            }
            self.record(event);
        }
        if self.store.get(&from.chat, at)?.is_some() {
            let items = (0..).zip(self.store.list_items(&from.chat, at, 0..u64::MAX)?);
            let add = items.map(|(place, item)| match self.state.chat().get(place) {
                Some(known) if item.redacted.is_some() => {
                    chat_item::carry_over(&item.text, &known.digest, known.tokens)
                }
                _ => Ok(item.text),
            });
            let add = add.collect::<Result<_>>()?;
            self.staged.chat = Some(ChatChange { keep: 0, add });
        }
        Ok(())
    }

    /// Takes over the system prompt; `content_hash` of its version there, and of the one here, which names this session.
    fn inherit_prompt(&mut self, from: &Ids, at: AsOf) -> Result<Option<(Hash, Hash)>> {
        let Some(prompt) = self.store.get(&from.prompt, at)? else { return Ok(None) };
        let mut payload = self.store.payload(&prompt)?;
        payload.fields.insert("session_ref".into(), json!(self.ids.session));
        let ours = payload.content_hash(None)?;
        let envelope = Envelope::unsourced(self.ids.prompt.clone(), ObjectType::SystemPrompt)?;
        self.staged.objects.push((envelope, payload, Expected::Any));
        Ok(Some((prompt.content_hash, ours)))
    }
}

/// The key under which a host session is stored: its ID, with a mark of harness and folder where another session has it.
pub(super) fn session_key(store: &Store, options: &OpenSession) -> Result<String> {
    let plain = options.host_session.clone();
    let Some(version) = store.get(&ObjectId::session(&plain), AsOf::Latest)? else {
        return Ok(plain);
    };
    // Of a session that was forgotten nobody can say where it was from: it is taken to be this one.
    if is_of(&version, options) || is_forgotten(&version) {
        return Ok(plain);
    }
    let mark = Hash::of(format!("{}\n{}", options.harness, options.cwd.to_string_lossy()));
    Ok(format!("{plain}@{}", &mark.as_str()[..8]))
}

/// The session of a key, or of those that parted from it the one that was written last.
fn newest_of(store: &Store, options: &OpenSession, key: &str) -> Result<String> {
    let mut newest =
        (store.get(&ObjectId::session(key), AsOf::Latest)?.map(|v| v.tx_id), key.to_owned());
    let parted = ObjectId::session(&format!("{key}+"));
    for id in store.find_prefix(parted.as_str(), MAX_PARTED)? {
        let Some(version) = store.get(&id, AsOf::Latest)? else { continue };
        if is_of(&version, options) && newest.0.is_none_or(|tx_id| tx_id < version.tx_id) {
            let key = id.as_str().strip_prefix("session:").unwrap_or_default();
            newest = (Some(version.tx_id), key.to_owned());
        }
    }
    Ok(newest.1)
}

/// Whether a session document is that of a host session in its folder.
fn is_of(version: &Version, options: &OpenSession) -> bool {
    let is =
        |field: &str, value: &str| version.fields.get(field).is_some_and(|found| found == value);
    is("harness", &options.harness)
        && is("host_session", &options.host_session)
        && is("cwd", &options.cwd.to_string_lossy())
}
