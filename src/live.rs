//! A session at work: takes the host's messages and tool events, stores them, and says what goes out.
//!
//! The one place of this layer that reads and writes. Decisions are made by the pure modules beside it. After an error the
//! state in memory counts for nothing and is read again from the store, so a failed call never leaves half of itself.

mod activation;
mod billing;
mod chat_item;
mod commit;
mod disk;
mod edit_help;
mod failed;
mod files;
mod full_output;
mod guard;
mod hazards;
mod ingest;
mod inspect;
mod known_files;
mod links;
mod moves;
mod names;
mod needs;
mod origin;
mod payload;
mod places;
mod reconcile;
mod record;
mod sessions;
mod sharing;
mod standing;
mod textless;
mod told;
mod tracked;
mod transform;
mod withhold;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

pub use activation::Wanted;
pub use billing::statement;
pub use disk::Files;
pub use files::ToolFinished;
pub use inspect::{About, Change, Inspected, Payload, Prompt, Since, compare_calls, inspect_call};
pub use reconcile::{Progress, Reconciled};
pub use record::{Place, Replayed, replay_call};
pub use sessions::{SessionSummary, find_session, newest_call, sessions};
pub use transform::{CallInfo, HostList, Transformed};

use self::commit::{Staged, Stored};
use self::failed::FailedCalls;
use self::ingest::PendingCall;
use self::known_files::Look;
use self::origin::Ids;
use self::payload::Payloads;
use self::reconcile::Due;
use self::tracked::Tracked;
use crate::context::evidence::Evidence;
use crate::context::hazard::Hazards;
use crate::context::host::HostMessage;
use crate::context::lines_index::LinesIndex;
use crate::context::log_layout::Texts;
use crate::context::tokens::Counter;
use crate::context::view::View;
use crate::error::{Error, Result};
use crate::object::{Hash, ObjectId, Timestamp};
use crate::session::{Session, Shows, SlotRecord, Treatment};
use crate::settings::{Layout, Settings};
use crate::source::{Exclude, Namespace, absolute_path};
use crate::store::{Store, Version};

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
    /// How tokens are counted; the default in live use.
    pub counter: Counter,
    /// Where the files are that the session's tools touch.
    pub files: Files,
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
    /// A file that the model knows was moved.
    FileMoved {
        /// Handle.
        handle: String,
        /// Path as the model knew it.
        from: String,
        /// Path as shown to the model now.
        path: String,
    },
    /// A file that the model knows cannot be looked at any more; what was known of it stands.
    FileOrphaned {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
        /// Why, as the system says it.
        reason: String,
    },
    /// A file that was out of reach can be looked at again.
    FileResumed {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
    },
    /// Folders of tracked files are polled, because the system does not watch them.
    Polling {
        /// How many.
        folders: u64,
        /// `watch_limit`, `network_file_system`, `asked`, `refused`.
        reason: &'static str,
    },
    /// Something about tracking failed; the looks before each call go on.
    TrackingFailed {
        /// What, in words.
        problem: String,
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
    /// Our bill by the plain host's; `None` before the first call.
    pub bill_ratio: Option<f64>,
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
    key: String,
    ids: Ids,
    /// What the agent sees of filesystems.
    namespace: Namespace,
    /// The working folder as the agent sees it.
    agent_cwd: PathBuf,
    state: Session,
    view: View,
    pending: Vec<PendingCall>,
    staged: Staged,
    stored: Stored,
    texts: RefCell<TextCache>,
    /// Lines that stand in the window; `None` until they are asked for.
    lines: Option<LinesIndex>,
    recorded: Vec<SlotRecord>,
    /// Of each slot of `recorded` what tells its message from others at the same place of the chat.
    recorded_marks: Vec<Option<Hash>>,
    /// Folded messages that change on every call, as they are now: nothing else holds their text.
    volatile: HashMap<u64, HostMessage>,
    failed: FailedCalls,
    payloads: Payloads,
    exclude: Exclude,
    evidence: Evidence,
    hazards: Hazards,
    /// Objects of which the store said that they were forgotten.
    forgotten: HashSet<ObjectId>,
    /// When files that stand were last looked at; of a session that is gone on with, when it was written last.
    looked: Timestamp,
    /// The same of all whose text the model knows.
    looked_at_known: Timestamp,
    reconcile: Due,
    /// What happened between calls and is told with the next.
    waiting: Vec<Notice>,
    tracked: Option<Tracked>,
    look: Look,
    /// Events of other sessions that may still be read for the coming call.
    events_left: Cell<u64>,
    stale: bool,
}

#[derive(Debug, Default)]
struct TextCache {
    bytes: usize,
    texts: HashMap<(ObjectId, Hash), Arc<str>>,
}

impl LiveSession {
    /// Opens a session: resumes what the store holds of it, forks its parent, or starts it.
    ///
    /// One host session ID can occur with another harness or in another folder: that is another session. A session that
    /// another process has open may be opened too: of the two, the one that finds it changed goes on as a session of its own,
    /// `{id}+{8 hex}`, with all that was before; the one that wrote last is resumed later.
    ///
    /// # Errors
    /// `FORGOTTEN` if a person had the session forgotten; whatever the store reports.
    pub fn open(store: Store, options: OpenSession) -> Result<Self> {
        let key = origin::session_key(&store, &options)?;
        let ids = Ids::stored(&store, &options, &key)?;
        withhold::refuse_forgotten(&store, &ids.session)?;
        let hazards = match &options.settings.hazards {
            Some(path) => hazards::read(&absolute_path(path, &options.cwd))?,
            None => Hazards::shipped().clone(),
        };
        let exclude = Exclude::new(&options.settings.exclude_globs())?;
        let namespace = options.files.namespace(&options, &key)?;
        let agent_cwd = namespace.agent_folder(&options.cwd);
        let mut live = Self {
            key,
            namespace,
            agent_cwd,
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
            lines: None,
            recorded: Vec::new(),
            recorded_marks: Vec::new(),
            volatile: HashMap::new(),
            failed: FailedCalls::default(),
            payloads: Payloads::default(),
            exclude,
            evidence: Evidence::default(),
            hazards,
            forgotten: HashSet::new(),
            looked: Timestamp(0),
            looked_at_known: Timestamp(0),
            reconcile: Due::No,
            waiting: Vec::new(),
            tracked: None,
            look: Look::default(),
            events_left: Cell::new(0),
            stale: false,
        };
        live.reload()?;
        if live.state.opened().is_none() {
            live.begin()?;
        }
        live.plan_to_reconcile()?;
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

    /// What a person should know of the mappings of a sandbox.
    pub fn oddities(&self) -> Vec<String> {
        self.namespace.oddities()
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
        Status {
            calls: self.state.calls(),
            epoch: self.state.epoch(),
            window_tokens: sent.map_or(0, |sent| sent.sent_tokens),
            plain_tokens: sent.map_or(0, |sent| sent.plain_tokens),
            bill_ratio: self.state.bill().ratio(),
            active_objects: self.active_objects().len() as u64,
            indexed_objects: self.state.index().entries().len() as u64,
            pinned_objects: self.state.sets().pinned().len() as u64,
        }
    }

    /// Stores what is not stored yet and marks the session paused. A session that another process has gone on with, and
    /// of which nothing waits here, is left to it.
    pub fn close(&mut self) -> Result<()> {
        self.tracked = None;
        self.refresh_if_stale()?;
        // What a check of the files found is found again by the next one.
        let staged = !self.staged.events.is_empty() && self.reconcile != Due::Staged;
        let waits = staged || self.failed.any() || self.payloads.wait();
        if !waits && self.has_moved_on()? {
            return Ok(());
        }
        self.durably(|live| {
            live.stage_failed_calls();
            live.commit_as("paused")
        })
    }

    /// Objects whose content stands in the window, in the order in which it does.
    pub fn active_objects(&self) -> Vec<&ObjectId> {
        let Settings { layout, active_per_turn, active_turns, .. } = self.settings;
        if layout == Layout::Pools {
            let active = self.state.active_by_window(active_per_turn, active_turns);
            return active.into_iter().map(|active| &active.id).collect();
        }
        let own = self.state.shown_window().filter_map(|(at, _)| {
            let fact = self.state.result(at)?;
            let stands = !matches!(self.state.treatment(at), Treatment::Reference);
            (stands && fact.shows == Shows::Own).then_some(fact.object.as_ref()?)
        });
        let shown = self.state.all_showings().map(|showing| &showing.object);
        let mut met = HashSet::new();
        own.chain(shown).filter(|id| met.insert(*id)).collect()
    }

    fn remember_text(&self, object: &ObjectId, version: &Hash, text: Arc<str>) {
        let mut cache = self.texts.borrow_mut();
        let bytes = text.len();
        if cache.texts.insert((object.clone(), version.clone()), text).is_none() {
            cache.bytes += bytes;
        }
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
        let found = self.owned_version(object, version)?;
        let text = match self.store.content(&found)? {
            Some(text) => text,
            None if withhold::is_forgotten(&found) => {
                return Err(Error::Forgotten { id: object.clone() });
            }
            None => return Err(no_text(object, version)),
        };
        let text: Arc<str> = text.into();
        self.remember_text(object, version, Arc::clone(&text));
        Ok(text)
    }
}

/// The version of an object with this `content_hash`, from the store.
fn stored_version(store: &Store, object: &ObjectId, version: &Hash) -> Result<Version> {
    let mut versions = store.history(object)?.into_iter();
    let found = versions.find(|candidate| candidate.content_hash == *version);
    found.ok_or_else(|| no_text(object, version))
}

fn no_text(object: &ObjectId, version: &Hash) -> Error {
    Error::NotFound { id: object.clone(), at: format!("with text and content hash `{version}`") }
}
