//! The documents of a session in the store: starting them (new, as a fork, or beside another
//! process), naming them, and reading them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::ahead::ReadAhead;
use super::events::read_events;
use super::family::{LastWritten, stem, written};
use super::looks::Looks;
use super::pool_lines::PoolLines;
use super::texts::TextCache;
use super::versions::is_forgotten;
use super::{Activity, ChatChange, Journal, Staged, Stored, chat_item};
use crate::OpenSession;
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, session_name};
use session::{Event, Opened, Session};
use store::{Store, Version, copied_from};

/// IDs of the session's documents.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    /// The host's session ID, made unique in the store; sessions that split off from this one
    /// append to it.
    key: String,
    pub(super) session: ObjectId,
    pub(super) chat: ObjectId,
    pub(super) prompt: ObjectId,
}

/// A session before it took another one over.
pub(crate) struct Before(Ids, Stored);

impl Ids {
    /// `key`: of the session that the host means; `own`: the same, or that of a session which split
    /// off from it.
    fn of(key: String, own: &str) -> Self {
        Self {
            key,
            session: ObjectId::session(own),
            chat: ObjectId::chat(own),
            prompt: ObjectId::system_prompt(own),
        }
    }

    /// The IDs of the session with this key that should be resumed.
    fn stored(store: &Store, options: &OpenSession, key: String) -> Result<Self> {
        let newest = newest_of(store, options, &key)?;
        Ok(Self::of(key, &newest))
    }

    /// The IDs of sessions that may split off from this one.
    fn others(&self) -> impl Iterator<Item = Self> + use<> {
        let key = self.key.clone();
        (2..).map(move |number| Self::of(key.clone(), &format!("{key}+{number}")))
    }

    /// The key under which the session's own documents are stored.
    pub(super) fn own_key(&self) -> &str {
        self.chat.as_str().strip_prefix("chat:").unwrap_or_default()
    }

    pub(super) fn contain(&self, id: &ObjectId) -> bool {
        [&self.session, &self.chat, &self.prompt].contains(&id)
    }
}

impl Journal {
    /// The journal of the session with this key; it is empty until [`Self::reload`].
    ///
    /// # Errors
    /// `FORGOTTEN` if the session is forgotten; errors of the store.
    pub(crate) fn open(store: Store, options: Arc<OpenSession>, key: String) -> Result<Self> {
        let ids = Ids::stored(&store, &options, key)?;
        if store.get(&ids.session, AsOf::Latest)?.is_some_and(|version| is_forgotten(&version)) {
            return Err(Error::Forgotten { id: ids.session });
        }
        Ok(Self {
            store,
            options,
            ids,
            state: Session::default(),
            rewrites: 0,
            staged: Staged::default(),
            stored: Stored::default(),
            ahead: ReadAhead::default(),
            texts: TextCache::default(),
            reasons: RefCell::default(),
            pool_lines: PoolLines::default(),
            looks: Looks::default(),
            forgotten: HashSet::new(),
            split_offs: None,
            is_in_doubt: false,
        })
    }

    /// Starts the session: a fork in the store, with the parent's events before its own; any other
    /// with its first commit. Must be read with [`Self::reload`] afterwards.
    ///
    /// `cwd`: the working folder as the agent knows it, in canonical form.
    pub(crate) fn begin(&mut self, cwd: &Path) -> Result<()> {
        let mut parent = None;
        if let Some(host_session) = self.options.parent.clone() {
            let options =
                OpenSession { host_session, parent: None, ..OpenSession::clone(&self.options) };
            let ids = Ids::stored(&self.store, &options, session_key(&self.store, &options)?)?;
            let version = self.store.get(&ids.session, AsOf::Latest)?;
            if let Some(version) = version.filter(|version| !is_forgotten(version)) {
                let at = AsOf::Tx(version.tx_id);
                let may_inherit = self.options.confined != Some(true)
                    || Session::replay(&read_events(&self.store, &ids.session, at)?).is_confined();
                parent = may_inherit.then_some((ids, at));
            }
        }
        if parent.is_none() {
            self.stored.start = Some(self.opened(None, cwd));
            return Ok(());
        }
        match self.start(parent, cwd, &[]) {
            // Another process started the session at the same moment.
            Err(Error::Conflict { id, .. }) if self.ids.contain(&id) => Ok(()),
            result => result,
        }
    }

    /// Continues as a session of its own, `{key}+2` or the next free number, with the whole
    /// history, because another process also writes to this one. Must be read with [`Self::reload`]
    /// afterwards.
    ///
    /// `cwd`: as for [`Self::begin`]. `aside`: as for [`Self::commit`].
    pub(crate) fn part(&mut self, cwd: &Path, aside: &[Event]) -> Result<()> {
        self.split_offs = None;
        let from = self.ids.clone();
        let Some(at) = self.stored.session else {
            // There is no history: it starts again under another name.
            self.ids = self.first_free(from.others())?;
            return Ok(());
        };
        let before = Before(from.clone(), std::mem::take(&mut self.stored));
        let result = self.split_off(&from, AsOf::Tx(at), cwd, aside);
        if result.is_err() {
            self.give_back(before);
        }
        result
    }

    /// The newest session that split off from this one since the last question; the first question
    /// only counts.
    pub(crate) fn newly_split_off(&mut self) -> Result<Option<ObjectId>> {
        let before = self.split_offs;
        let mut newest = None;
        for ids in self.ids.others().skip(before.unwrap_or(0)) {
            if self.store.get(&ids.session, AsOf::Latest)?.is_none() {
                break;
            }
            *self.split_offs.get_or_insert(0) += 1;
            newest = Some(ids.session);
        }
        self.split_offs.get_or_insert(0);
        Ok(newest.filter(|_| before.is_some()))
    }

    /// Stages that this session, which has no messages yet, continues another session as a fork
    /// would. Returns what [`Self::give_back`] needs if the commit fails.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such session, `FORGOTTEN` if it is forgotten; errors of the
    /// store.
    pub(crate) fn take_over(&mut self, source: &ObjectId, cwd: &Path) -> Result<Before> {
        let own = session_name(source.as_str());
        let from = Ids::of(own.to_owned(), own);
        let at = match self.store.get(source, AsOf::Latest)? {
            Some(version) if is_forgotten(&version) => {
                return Err(Error::Forgotten { id: source.clone() });
            }
            Some(version) => AsOf::Tx(version.tx_id),
            None => return Err(Error::NotFound { id: source.clone(), at: "latest".to_owned() }),
        };
        let ids = self.first_free(std::iter::once(self.ids.clone()).chain(self.ids.others()))?;
        let before =
            Before(std::mem::replace(&mut self.ids, ids), std::mem::take(&mut self.stored));
        match self.stage_start(Some((from, at)), cwd) {
            Ok(()) => Ok(before),
            Err(error) => {
                self.give_back(before);
                Err(error)
            }
        }
    }

    /// Restores the session to its state before [`Self::part`] or [`Self::take_over`].
    pub(crate) fn give_back(&mut self, before: Before) {
        (self.ids, self.stored) = (before.0, before.1);
        self.is_in_doubt = true;
    }

    /// The first of these IDs that no session has.
    fn first_free(&self, all: impl Iterator<Item = Ids>) -> Result<Ids> {
        for ids in all {
            if self.store.get(&ids.session, AsOf::Latest)?.is_none() {
                return Ok(ids);
            }
        }
        Err(Error::internal("no number is free"))
    }

    /// Splits off under the first number that is free, and stays so until the commit.
    fn split_off(&mut self, from: &Ids, at: AsOf, cwd: &Path, aside: &[Event]) -> Result<()> {
        let mut others = from.others();
        loop {
            self.ids = self.first_free(others.by_ref())?;
            match self.start(Some((from.clone(), at)), cwd, aside) {
                Err(Error::Conflict { id, .. }) if self.ids.contain(&id) => {}
                result => return result,
            }
        }
    }

    /// Discards everything staged and reads the state from the store again, as this process left
    /// it; returns all its events. A session that is not stored yet starts again.
    pub(crate) fn reload(&mut self) -> Result<Vec<Event>> {
        self.staged = Staged::default();
        self.ahead = ReadAhead::default();
        let at = self.stored.session.map_or(AsOf::Latest, AsOf::Tx);
        let session = self.store.get(&self.ids.session, at)?;
        let at = session.as_ref().map_or(at, |session| AsOf::Tx(session.tx_id));
        let stored = match session {
            Some(_) => read_events(&self.store, &self.ids.session, at)?,
            None => Vec::new(),
        };
        let start = self.stored.start.take().filter(|_| session.is_none());
        self.staged.events.extend(start.clone());
        let written = stored.len() as u64;
        let events = [stored, self.staged.events.clone()].concat();
        self.state = Session::replay(&events);
        self.stored = Stored {
            session: session.map(|version| version.tx_id),
            events: written,
            chat: self.store.get(&self.ids.chat, at)?.map(|version| version.tx_id),
            prompt: self.store.get(&self.ids.prompt, at)?.map(|version| version.content_hash),
            start,
        };
        self.is_in_doubt = false;
        if let Some(confined) = self.options.confined
            && confined != self.state.is_confined()
        {
            self.record(Event::Confined { confined });
        }
        Ok(events)
    }

    /// Writes the first versions of the session's documents.
    fn start(&mut self, parent: Option<(Ids, AsOf)>, cwd: &Path, aside: &[Event]) -> Result<()> {
        self.stage_start(parent, cwd)?;
        self.commit(Activity::Active, aside)
    }

    fn stage_start(&mut self, parent: Option<(Ids, AsOf)>, cwd: &Path) -> Result<()> {
        self.staged = Staged::default();
        self.state = Session::default();
        if let Some((ids, at)) = &parent {
            self.inherit(ids, *at)?;
        }
        self.record(self.opened(parent.map(|(ids, _)| ids.session), cwd));
        Ok(())
    }

    fn opened(&self, forked_from: Option<ObjectId>, cwd: &Path) -> Event {
        Event::Opened(Opened {
            harness: self.options.harness.clone(),
            host_session: self.options.host_session.clone(),
            cwd: cwd.to_string_lossy().into_owned(),
            time: self.store.now(),
            forked_from,
            confined: self.options.confined == Some(true),
        })
    }

    /// Takes over index, sets, handles, chat and system prompt of another session, as of a
    /// transaction.
    fn inherit(&mut self, from: &Ids, at: AsOf) -> Result<()> {
        let prompts = self.inherit_prompt(from, at)?;
        for mut event in read_events(&self.store, &from.session, at)? {
            // The prompt is the same, and so is what the provider's cache holds.
            let prompt = match &mut event {
                Event::Called(call) => call.system_prompt.as_mut(),
                Event::HostCalls(calls) => calls.prompt.as_mut(),
                _ => None,
            };
            if let (Some(prompt), Some((theirs, ours))) = (prompt, &prompts)
                && prompt == theirs
            {
                prompt.clone_from(ours);
            }
            self.record(event);
        }
        if self.store.get(&from.chat, at)?.is_some() {
            let add = self.items_for_a_copy(&from.chat, at, 0..u64::MAX)?;
            self.staged.chat = Some(ChatChange { keep: 0, add });
        }
        Ok(())
    }

    /// Items of a chat whose messages the state holds, to be written anew. The marks of removed
    /// text stay behind in the store, so such an item must say so itself.
    pub(super) fn items_for_a_copy(
        &self,
        chat: &ObjectId,
        at: AsOf,
        range: Range<u64>,
    ) -> Result<Vec<String>> {
        let items = (range.start..).zip(self.store.list_items(chat, at, range)?);
        let copy = items.map(|(place, item)| match self.state.chat().get(place) {
            Some(known) if item.redacted.is_some() && !self.gives(&item.text, &known.digest) => {
                chat_item::carry_over(&item.text, &known.digest, known.tokens)
            }
            _ => Ok(item.text),
        });
        copy.collect()
    }

    /// Whether an item gives the message with this digest, whatever changed in it: the names of
    /// calls that are stored under another ID.
    fn gives(&self, item: &str, digest: &Hash) -> bool {
        let message = chat_item::read(item, self, self.options.counter);
        message.is_ok_and(|message| Hash::of(&message.raw) == *digest)
    }

    /// Takes over the system prompt. Returns the `content_hash` of its version there, and of the
    /// one here, which names this session.
    fn inherit_prompt(&mut self, from: &Ids, at: AsOf) -> Result<Option<(Hash, Hash)>> {
        let Some(prompt) = self.store.get(&from.prompt, at)? else { return Ok(None) };
        let mut payload = self.store.payload(&prompt)?;
        payload.fields.insert("session_ref".into(), json!(self.ids.session));
        let ours = payload.content_hash(None)?;
        let envelope = Envelope::unsourced(self.ids.prompt.clone(), ObjectType::SystemPrompt)?;
        self.stage_object(envelope, payload, ours.clone());
        Ok(Some((prompt.content_hash, ours)))
    }
}

/// The key under which a host session is stored: its ID, marked with harness and folder where
/// another session has it.
pub(crate) fn session_key(store: &Store, options: &OpenSession) -> Result<String> {
    let plain = options.host_session.clone();
    let Some(version) = store.get(&ObjectId::session(&plain), AsOf::Latest)? else {
        return Ok(plain);
    };
    // The owner of a forgotten session is unknown: it is taken to be this one.
    if is_of(&version, options) || is_forgotten(&version) {
        return Ok(plain);
    }
    let mark = Hash::of(format!("{}\n{}", options.harness, options.cwd.to_string_lossy()));
    Ok(format!("{plain}@{}", &mark.as_str()[..8]))
}

/// The newest-written session among the one with a key and those that split off from it.
fn newest_of(store: &Store, options: &OpenSession, key: &str) -> Result<String> {
    let origin = ObjectId::session(key);
    let mut newest: Option<(LastWritten, ObjectId)> = None;
    let parted = store.find_prefix(&format!("{origin}+"), usize::MAX)?;
    for id in std::iter::once(origin.clone()).chain(parted) {
        let Some(version) = store.get(&id, AsOf::Latest)? else { continue };
        let parted = || copied_from(&id).is_none() && stem(&id) == origin.as_str();
        if id != origin && !(parted() && is_of(&version, options)) {
            continue;
        }
        let written = written(store, &version)?;
        if newest.as_ref().is_none_or(|(before, _)| *before < written) {
            newest = Some((written, id));
        }
    }
    let newest = newest.map_or(origin, |(_, id)| id);
    Ok(session_name(newest.as_str()).to_owned())
}

/// Whether a session document belongs to a host session in its folder.
fn is_of(version: &Version, options: &OpenSession) -> bool {
    let is =
        |field: &str, value: &str| version.fields.get(field).is_some_and(|found| found == value);
    is("harness", &options.harness)
        && is("host_session", &options.host_session)
        && is("cwd", &options.cwd.to_string_lossy())
}
