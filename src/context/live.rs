//! A session at work: takes the host's messages and tool events, stores them, and says what goes out.
//!
//! The one place of this layer that reads and writes. Decisions are made by the pure modules beside it. After an error the
//! state in memory counts for nothing and is read again from the store, so a failed call never leaves half of itself.

mod activation;
mod chat_item;
mod files;
mod guard;
mod ingest;
mod names;
mod record;
mod transform;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use activation::Wanted;
pub use files::ToolFinished;
pub use record::replay_call;
pub use transform::{CallInfo, Transformed};

use self::ingest::PendingCall;
use super::log_layout::Texts;
use super::view::View;
use crate::error::{Error, Result};
use crate::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, TxId};
use crate::session::{Event, FailedCall, Opened, Session, Shows, SlotRecord, Treatment};
use crate::settings::{Layout, Settings};
use crate::source::canonical_path;
use crate::store::{Expected, Outcome, Store, Transaction};

/// Texts kept in memory, in bytes; beyond it the cache starts anew.
const TEXT_CACHE_BYTES: usize = 64 << 20;

/// What a session is opened with.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's session ID.
    pub host_session: String,
    /// Working folder.
    pub cwd: PathBuf,
    /// Host session ID of the session that this one is a fork of.
    pub parent: Option<String>,
    /// Settings.
    pub settings: Settings,
    /// ID of the filesystem that paths belong to.
    pub filesystem_id: String,
}

/// Something that happened during a call and that a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A new epoch started.
    EpochStarted {
        /// Its number.
        epoch: u32,
        /// Why.
        reason: String,
        /// Messages collapsed.
        collapsed: u64,
        /// Tokens freed.
        freed_tokens: u64,
    },
    /// A file changed on disk after the model saw it.
    FileChanged {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
        /// Lines added.
        added: u64,
        /// Lines removed.
        removed: u64,
    },
    /// The host's list did not continue the one before.
    HostRewrote {
        /// `branch`, `compaction`, `rearranged`, `edited`.
        how: &'static str,
        /// Index in the list from which it differs.
        at: u64,
    },
    /// A message's text changes on every call; it passes through and is not stored anew.
    Volatile {
        /// Index in the list.
        at: u64,
    },
}

/// Figures for a status line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Status {
    /// Calls so far.
    pub calls: u64,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Tokens of the messages last sent.
    pub window_tokens: u64,
    /// Tokens of the messages as the host would have sent them.
    pub plain_tokens: u64,
    /// Content objects whose content stands in the window.
    pub active_objects: u64,
    /// Content objects met.
    pub indexed_objects: u64,
    /// Content objects pinned.
    pub pinned_objects: u64,
}

/// A session at work.
#[derive(Debug)]
pub struct LiveSession {
    store: Store,
    settings: Settings,
    options: OpenSession,
    ids: Ids,
    state: Session,
    view: View,
    pending: Vec<PendingCall>,
    staged: Staged,
    stored: Stored,
    texts: RefCell<TextCache>,
    recorded: Vec<SlotRecord>,
    failed_calls: Vec<FailedCall>,
    failed_length: Option<u64>,
    window_limit: Option<u64>,
    stale: bool,
}

/// IDs of the session's infrastructure objects.
#[derive(Debug, Clone)]
struct Ids {
    session: ObjectId,
    chat: ObjectId,
    prompt: ObjectId,
}

impl Ids {
    fn of(key: &str) -> Self {
        Self {
            session: ObjectId::session(key),
            chat: ObjectId::chat(key),
            prompt: ObjectId::system_prompt(key),
        }
    }
}

/// What waits for the next commit.
#[derive(Debug, Default)]
struct Staged {
    events: Vec<Event>,
    objects: Vec<(Envelope, Payload, Expected)>,
    chat: Option<ChatChange>,
}

#[derive(Debug)]
struct ChatChange {
    keep: u64,
    add: Vec<String>,
}

/// Where the stored documents stand.
#[derive(Debug, Default, Clone)]
struct Stored {
    session: Option<TxId>,
    events: u64,
    chat: Option<TxId>,
    prompt: Option<Hash>,
}

#[derive(Debug, Default)]
struct TextCache {
    bytes: usize,
    texts: HashMap<(ObjectId, Hash), Arc<str>>,
}

impl LiveSession {
    /// Opens a session: resumes what the store holds of it, forks its parent, or starts it.
    ///
    /// One host session ID can occur with another harness or in another folder: that is another session.
    pub fn open(store: Store, options: OpenSession) -> Result<Self> {
        let key = session_key(&store, &options)?;
        let ids = Ids::of(&key);
        let mut live = Self {
            store,
            settings: options.settings.clone(),
            options,
            ids,
            state: Session::default(),
            view: View::default(),
            pending: Vec::new(),
            staged: Staged::default(),
            stored: Stored::default(),
            texts: RefCell::default(),
            recorded: Vec::new(),
            failed_calls: Vec::new(),
            failed_length: None,
            window_limit: None,
            stale: false,
        };
        live.reload()?;
        if live.state.opened().is_none() {
            live.begin()?;
            live.reload()?;
        }
        Ok(live)
    }

    /// The state.
    pub fn state(&self) -> &Session {
        &self.state
    }

    /// The session document's ID.
    pub fn id(&self) -> &ObjectId {
        &self.ids.session
    }

    /// The working folder.
    pub fn cwd(&self) -> &Path {
        &self.options.cwd
    }

    /// Gives up the state in memory, which a panic may have left half made: it is read again from the store.
    pub fn distrust(&mut self) {
        self.stale = true;
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Figures for a status line.
    pub fn status(&self) -> Status {
        let sent = self.state.sent();
        let active = if self.settings.layout == Layout::Pools {
            self.state
                .active_by_window(self.settings.active_per_turn, self.settings.active_turns)
                .len()
        } else {
            self.standing_objects()
        };
        Status {
            calls: self.state.calls(),
            epoch: self.state.epoch(),
            window_tokens: sent.map_or(0, |sent| sent.sent_tokens),
            plain_tokens: sent.map_or(0, |sent| sent.plain_tokens),
            active_objects: active as u64,
            indexed_objects: self.state.index().entries().len() as u64,
            pinned_objects: self.state.sets().pinned().len() as u64,
        }
    }

    /// Notes that a call went out with the host's own messages; the next record says so.
    pub fn report_failed_call(&mut self, reason: &str) {
        let messages = self.failed_length.take();
        self.failed_calls.push(FailedCall { reason: reason.to_owned(), messages });
    }

    /// Stores what is staged and marks the session paused.
    pub fn close(&mut self) -> Result<()> {
        if self.stale {
            return Ok(());
        }
        self.commit_as("paused")
    }

    /// Starts the session, with the parent's events before its own where it is a fork.
    fn begin(&mut self) -> Result<()> {
        let parent = match self.options.parent.clone() {
            Some(parent) => self.inherit(&parent)?,
            None => None,
        };
        self.record(Event::Opened(Opened {
            harness: self.options.harness.clone(),
            host_session: self.options.host_session.clone(),
            cwd: canonical_path(&self.options.cwd).to_string_lossy().into_owned(),
            time: self.store.now(),
            forked_from: parent,
        }));
        self.commit()
    }

    /// Takes over index, sets, handles and chat of the session that this one is a fork of.
    fn inherit(&mut self, parent: &str) -> Result<Option<ObjectId>> {
        let options =
            OpenSession { host_session: parent.to_owned(), parent: None, ..self.options.clone() };
        let ids = Ids::of(&session_key(&self.store, &options)?);
        if self.store.get(&ids.session, AsOf::Latest)?.is_none() {
            return Ok(None);
        }
        for event in record::read_events(&self.store, &ids.session)? {
            self.record(event);
        }
        if self.store.get(&ids.chat, AsOf::Latest)?.is_some() {
            let items = self.store.items(&ids.chat, AsOf::Latest, 0..u64::MAX)?;
            self.staged.chat = Some(ChatChange { keep: 0, add: items });
        }
        Ok(Some(ids.session))
    }

    /// Reads the state from the store again.
    fn reload(&mut self) -> Result<()> {
        self.staged = Staged::default();
        self.view = View::default();
        let session = self.store.get(&self.ids.session, AsOf::Latest)?;
        let chat = self.store.get(&self.ids.chat, AsOf::Latest)?;
        let prompt = self.store.get(&self.ids.prompt, AsOf::Latest)?;
        let events = match session {
            Some(_) => record::read_events(&self.store, &self.ids.session)?,
            None => Vec::new(),
        };
        self.state = Session::replay(&events);
        self.stored = Stored {
            session: session.map(|version| version.tx_id),
            events: events.len() as u64,
            chat: chat.map(|version| version.tx_id),
            prompt: prompt.map(|version| version.content_hash),
        };
        self.recorded = record::recorded_slots(&events);
        self.pending = self.unanswered_calls()?;
        self.stale = false;
        Ok(())
    }

    /// Takes an event into the state and stages it.
    fn record(&mut self, event: Event) {
        self.state.apply(&event);
        self.staged.events.push(event);
    }

    fn commit(&mut self) -> Result<()> {
        self.commit_as("active")
    }

    /// Writes all that is staged in one transaction.
    fn commit_as(&mut self, activity: &str) -> Result<()> {
        let staged = std::mem::take(&mut self.staged);
        let events: Vec<String> = staged
            .events
            .iter()
            .map(|event| {
                serde_json::to_string(event).map_err(|error| Error::internal(error.to_string()))
            })
            .collect::<Result<_>>()?;
        let written = events.len() as u64;
        let mut transaction = self.put_objects(staged.objects)?;
        let changes_chat = staged.chat.is_some();
        if let Some(change) = staged.chat {
            let envelope = Envelope::unsourced(self.ids.chat.clone(), ObjectType::Chat)?;
            let payload = Payload { fields: self.chat_fields(), ..Payload::default() };
            transaction.splice(
                envelope,
                &payload,
                change.keep,
                change.add,
                expected(self.stored.chat),
            )?;
        }
        let envelope = Envelope::unsourced(self.ids.session.clone(), ObjectType::Session)?;
        let payload = Payload { fields: self.session_fields(activity), ..Payload::default() };
        transaction.splice(
            envelope,
            &payload,
            self.stored.events,
            events,
            expected(self.stored.session),
        )?;
        let receipt = transaction.commit()?;
        self.stored.events += written;
        let latest = |outcome: &Outcome| match outcome {
            Outcome::Written => receipt.tx_id,
            Outcome::Unchanged(tx_id) => *tx_id,
        };
        let mut outcomes = receipt.outcomes.iter().rev();
        self.stored.session = outcomes.next().map(latest);
        if changes_chat {
            self.stored.chat = outcomes.next().map(latest);
        }
        self.trim_texts();
        Ok(())
    }

    /// Puts objects into a transaction. Where an object got several versions since the last commit, the earlier ones are
    /// committed first: a transaction holds one version of an object.
    fn put_objects(&self, objects: Vec<(Envelope, Payload, Expected)>) -> Result<Transaction<'_>> {
        let mut transaction = self.store.begin();
        let mut held = HashSet::new();
        for (envelope, payload, expected) in objects {
            if !held.insert(envelope.id.clone()) {
                std::mem::replace(&mut transaction, self.store.begin()).commit()?;
                held = HashSet::from([envelope.id.clone()]);
            }
            transaction.put(envelope, &payload, expected)?;
        }
        Ok(transaction)
    }

    fn session_fields(&self, activity: &str) -> Map<String, Value> {
        let fields = json!({
            "harness": self.options.harness,
            "host_session": self.options.host_session,
            "cwd": self.options.cwd.to_string_lossy(),
            "state": activity,
            "chat_ref": self.ids.chat,
            "system_prompt_ref": self.ids.prompt,
        });
        fields.as_object().cloned().unwrap_or_default()
    }

    fn chat_fields(&self) -> Map<String, Value> {
        let fields =
            json!({ "session_ref": self.ids.session, "turn_count": self.state.chat().turn() });
        fields.as_object().cloned().unwrap_or_default()
    }

    /// Objects whose content stands in the window.
    fn standing_objects(&self) -> usize {
        let own = self.state.window().filter_map(|(at, _)| {
            let fact = self.state.result(at)?;
            let stands = !matches!(self.state.treatment(at), Treatment::Reference);
            (stands && fact.shows == Shows::Own).then_some(fact.object.as_ref()?)
        });
        let shown = self.state.all_showings().map(|showing| &showing.object);
        own.chain(shown).collect::<HashSet<_>>().len()
    }

    fn remember_text(&self, object: &ObjectId, version: &Hash, text: Arc<str>) {
        let mut cache = self.texts.borrow_mut();
        cache.bytes += text.len();
        cache.texts.insert((object.clone(), version.clone()), text);
    }

    fn trim_texts(&self) {
        let mut cache = self.texts.borrow_mut();
        if cache.bytes > TEXT_CACHE_BYTES {
            *cache = TextCache::default();
        }
    }
}

impl Texts for LiveSession {
    fn text(&self, object: &ObjectId, version: &Hash) -> Result<Arc<str>> {
        let key = (object.clone(), version.clone());
        if let Some(text) = self.texts.borrow().texts.get(&key) {
            return Ok(Arc::clone(text));
        }
        let text = stored_text(&self.store, object, version)?;
        self.remember_text(object, version, Arc::clone(&text));
        Ok(text)
    }
}

/// Text of the version of an object with this `content_hash`, from the store.
fn stored_text(store: &Store, object: &ObjectId, version: &Hash) -> Result<Arc<str>> {
    let missing =
        || Error::NotFound { id: object.clone(), at: format!("with content hash `{version}`") };
    let versions = store.history(object)?;
    let found =
        versions.iter().find(|candidate| candidate.content_hash == *version).ok_or_else(missing)?;
    Ok(store.content(found)?.ok_or_else(missing)?.into())
}

fn expected(tx: Option<TxId>) -> Expected {
    tx.map_or(Expected::Absent, Expected::Latest)
}

/// The key under which a host session is stored: its ID, with a mark of harness and folder where another session has it.
fn session_key(store: &Store, options: &OpenSession) -> Result<String> {
    let plain = options.host_session.clone();
    let Some(version) = store.get(&ObjectId::session(&plain), AsOf::Latest)? else {
        return Ok(plain);
    };
    let is =
        |field: &str, value: &str| version.fields.get(field).is_some_and(|found| found == value);
    let cwd = options.cwd.to_string_lossy();
    if is("harness", &options.harness) && is("cwd", &cwd) {
        return Ok(plain);
    }
    let mark = Hash::of(format!("{}\n{cwd}", options.harness));
    Ok(format!("{plain}@{}", &mark.as_str()[..8]))
}
