//! Keeps a local store and a shared one in sync, in the background. The local store is the front:
//! writes to it are safe, and its log from a certain transaction on is the queue of what to send.
//! No call may wait for this.
//!
//! - `push` sends what the local store has: files, and sessions if wanted, without anything that
//!   looks like a secret.
//! - `pull` takes what others have: their files, and requested sessions.
//! - `lost` is what follows when the shared store no longer has what it acknowledged.
//! - `forgotten` carries over what a person chose to forget, both ways.
//! - `machines` is who shares, and who wrote what.
//! - `running` is the thread that does this while a session runs, in one process at a time.
//! - `state` is what a store remembers about a shared one; `migrate` moves everything at once.
//!
//! Both ways end in [`Store::take`], as does importing an archive, so all agree on the latest
//! version of an object. Each may be interrupted anywhere and repeated.

mod forgotten;
mod lost;
mod machines;
mod migrate;
mod pull;
mod push;
mod running;
mod state;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use self::lost::Lost;
pub use self::lost::Restored;
use self::machines::behind;
pub use self::machines::{SharingMachine, machine_of};
pub use self::migrate::{Migrated, migrate};
pub use self::pull::Pulled;
pub use self::push::Pushed;
pub use self::running::Running;
pub use self::state::sent_until;
use self::state::{Last, State};
use config::{Exclude, Settings, XtdbOptions};
use store::archive::Taking;
use store::{ImportOptions, Imported, IsExcluded, Store, Version};

use super::XtdbBackend;
use super::server::{Machine, PATIENCE};
use base::error::{Error, Result};
use base::lock;
use base::object::{ObjectId, ObjectType, Timestamp, TxId};

/// Versions read at once from a log.
const VERSIONS_AT_ONCE: usize = 256;

/// What is shared, and where.
#[derive(Clone)]
pub struct SharingOptions {
    /// The shared store.
    pub shared: XtdbOptions,
    /// Whether running sessions are shared too, from their start. Text in them that looks like a
    /// secret is replaced.
    pub sessions: bool,
    /// Name of this machine's user; `None`: that of git.
    pub author: Option<String>,
    /// Files whose text neither leaves this machine nor is taken.
    pub is_excluded: IsExcluded,
}

/// Memory folders, a project's and its user's. Their owners share their content themselves, for
/// example by git.
const MEMORY_FOLDERS: [&str; 3] =
    ["**/.pi/memory/**", "**/.pi/agent/memory/**", "**/palimpsest/memory/**"];

impl SharingOptions {
    /// What settings share with a store, which may differ from the one in the settings. The text of
    /// memory stays here, like that of files that are never stored.
    ///
    /// # Errors
    /// As [`Settings::excluded`].
    pub fn of(settings: &Settings, shared: XtdbOptions) -> Result<Self> {
        let memory = Exclude::new(&MEMORY_FOLDERS.map(str::to_owned))?;
        let kept = memory.and(settings.excluded()?);
        let is_excluded: IsExcluded = Arc::new(move |path| kept.excludes_name(Path::new(path)));
        let (sessions, author) = (settings.share_sessions, settings.share_as.clone());
        Ok(Self { shared, sessions, author, is_excluded })
    }
}

/// A local store and the shared one that it is kept in sync with. Connects on first use.
pub struct Sharing {
    local: Store,
    options: SharingOptions,
    connected: Mutex<Option<Connected>>,
    machine: OnceLock<Machine>,
    /// Whether something was taken since this machine last said how far it is.
    took: AtomicBool,
}

/// The shared store, as a store and as its concrete backend.
#[derive(Clone)]
struct Connected {
    store: Store,
    backend: Arc<XtdbBackend>,
    /// The newest transaction in its log when last asked.
    newest: Option<TxId>,
}

/// How far a store and the shared one are in sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharingStatus {
    /// Address of the shared store's server.
    pub url: String,
    /// ID of the shared store; `None` if it was never reached.
    pub store_id: Option<String>,
    /// Transactions that wait to be sent.
    pub outbox: u64,
    /// Time of the oldest of them.
    pub oldest: Option<Timestamp>,
    /// Others' transactions in the shared store that were not taken yet; `None` if the server was
    /// not asked.
    pub behind: Option<u64>,
    /// When everything was last in sync.
    pub last: Option<Timestamp>,
    /// Why sharing has stopped.
    pub error: Option<SharingError>,
    /// Versions that wait because their time is far ahead of this machine's clock.
    pub ahead: u64,
    /// That it lost what it had acknowledged, the last time; `None` if it never did.
    pub restored: Option<Restored>,
    /// Whether running sessions are shared.
    pub sessions: bool,
}

/// Why sharing has stopped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SharingError {
    /// The error's code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// Since when it has failed.
    pub since: Timestamp,
}

impl Sharing {
    /// Sends nothing.
    pub fn new(local: Store, options: SharingOptions) -> Self {
        Self {
            local,
            options,
            connected: Mutex::new(None),
            machine: OnceLock::new(),
            took: AtomicBool::new(false),
        }
    }

    /// The sessions in the shared store, by ID.
    ///
    /// # Errors
    /// Those of [`XtdbBackend::connect`].
    pub fn sessions(&self) -> Result<Vec<Version>> {
        let shared = self.connect()?.0;
        let sessions = shared.backend.sessions()?;
        self.learn_authors(&shared, &sessions)?;
        Ok(sessions)
    }

    /// The locally known status, without asking the server.
    pub fn status(&self) -> Result<SharingStatus> {
        let last = Last::read(&self.local, &self.options.shared.url)?;
        let state = match &last.store_id {
            Some(store_id) => State::read(&self.local, store_id)?,
            None => State::default(),
        };
        let (outbox, oldest) = self.outbox(&state)?;
        Ok(SharingStatus {
            url: self.options.shared.url.clone(),
            store_id: last.store_id,
            outbox,
            oldest,
            behind: None,
            last: last.alike,
            error: last.error,
            ahead: state.ahead.len() as u64,
            restored: state.restored,
            sessions: self.options.sessions,
        })
    }

    /// Like [`Self::status`], after asking the server, which has a few seconds for all its answers.
    /// Also works on a store opened read-only.
    pub fn look(&self) -> Result<SharingStatus> {
        let asked = self.connect_anew(Some(PATIENCE)).and_then(|(connected, lost)| {
            let (newest, _) = connected.store.newest()?;
            let store_id = connected.store.id().to_owned();
            let behind = match lost {
                Some(_) => None,
                None => behind(&connected, &[self.reader(&store_id)?], newest)?.pop(),
            };
            Ok((store_id, behind, lost))
        });
        self.note(None, asked.as_ref().err())?;
        let mut status = self.status()?;
        match asked {
            Ok((store_id, behind, lost)) => {
                (status.store_id, status.behind, status.error) = (Some(store_id), behind, None);
                let noticed = lost.map(|lost| lost.noticed(self.local.now()));
                status.restored = noticed.or(status.restored);
            }
            Err(error) => status.error = Some(self.describe(&error, status.error)),
        }
        Ok(status)
    }

    /// Number of transactions that wait to be sent, and the time of the oldest.
    fn outbox(&self, state: &State) -> Result<(u64, Option<Timestamp>)> {
        let kind = (!self.options.sessions).then_some(ObjectType::File);
        self.local.upkeep("sharing")?.written_after(state.pushed, kind)
    }

    /// The shared store, and whether it lost what was known to be there. Connects if necessary, and
    /// again if the server now has another log.
    fn connect(&self) -> Result<(Connected, Option<Lost>)> {
        let mut connected = lock(&self.connected);
        if let Some(known) = &mut *connected {
            let marks = State::read(&self.local, known.store.id())?.marks();
            if let Some(newest) = known.backend.newest_of_same(&marks)? {
                known.newest = Some(TxId(newest.id));
                return Ok((known.clone(), None));
            }
        }
        *connected = None;
        let (found, lost) = self.connect_anew(None)?;
        if lost.is_none() {
            *connected = Some(found.clone());
        }
        Ok((found, lost))
    }

    /// The shared store by a connection of its own. `deadline`: for all that it is asked.
    fn connect_anew(&self, deadline: Option<Duration>) -> Result<(Connected, Option<Lost>)> {
        let mut options = self.options.shared.clone();
        options.writer = Some(self.local.id().to_owned());
        let backend = Arc::new(XtdbBackend::connect_within(&options, deadline)?);
        let store = Store::with_backend(backend.clone()).with_clock(self.local.clock());
        let found = Connected { store, backend, newest: None };
        let lost = self.look_for_loss(&found)?;
        Ok((found, lost))
    }

    /// Notes progress: what was done is in the shared store. `is_asked`: by the server's word, not
    /// because this process wrote it.
    fn advance(
        &self,
        shared: &Connected,
        is_asked: bool,
        change: impl FnOnce(&mut State),
    ) -> Result<()> {
        let mut state = State::read(&self.local, shared.store.id())?;
        let newest = if is_asked {
            let newest = shared.backend.newest_of_same(&state.marks())?;
            newest.ok_or_else(|| shared.backend.lost())?
        } else {
            shared.backend.newest_known()
        };
        change(&mut state);
        state.seen = state.seen.filter(|seen| seen.id > newest.id).or(Some(newest));
        state.write(&self.local, shared.store.id())
    }

    /// Works with the shared store, and records the outcome.
    fn noting<T>(&self, work: impl FnOnce(&Connected) -> Result<T>) -> Result<T> {
        let mut store_id = None;
        let done = self.connect().and_then(|(connected, lost)| {
            if let Some(lost) = lost {
                self.begin_anew(&connected, lost)?;
            }
            store_id = Some(connected.store.id().to_owned());
            work(&connected)
        });
        self.note(store_id, done.as_ref().err())?;
        done
    }

    /// Records the outcome of an attempt, unless the store is read-only.
    fn note(&self, store_id: Option<String>, error: Option<&Error>) -> Result<()> {
        let url = &self.options.shared.url;
        let mut last = Last::read(&self.local, url)?;
        last.store_id = store_id.or(last.store_id);
        last.error = error.map(|error| self.describe(error, last.error.take()));
        match last.write(&self.local, url) {
            Err(Error::ReadOnly { .. }) => Ok(()),
            noted => noted,
        }
    }

    /// An error in its stored form; a repeated one keeps its time.
    fn describe(&self, error: &Error, before: Option<SharingError>) -> SharingError {
        let (code, message) = (error.code().to_owned(), error.to_string());
        let since = before.filter(|before| before.code == code).map(|before| before.since);
        SharingError { code, message, since: since.unwrap_or_else(|| self.local.now()) }
    }

    /// The newest transaction of the local store.
    fn newest(&self) -> Result<TxId> {
        Ok(self.local.newest()?.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_memory_and_of_excluded_files_is_not_shared() {
        let settings = Settings::from_json(json!({ "excludeAlso": ["*.mine"] })).unwrap();
        let sharing = SharingOptions::of(&settings, XtdbOptions::default()).unwrap();
        let kept = |path: &str| (sharing.is_excluded)(path);
        for path in [
            "/app/.pi/memory/MEMORY.md",
            "/app/.pi/memory/MEMORY.local.md",
            "/home/ann/.pi/agent/memory/archive/old.md",
            "/app/.env",
            "/app/a.mine",
        ] {
            assert!(kept(path), "{path}");
        }
        for path in ["/app/src/memory/scope.rs", "/app/.pi/notes.md", "/app/MEMORY.md"] {
            assert!(!kept(path), "{path}");
        }
        assert!(!sharing.sessions);
    }
}

/// A direction.
#[derive(Clone, Copy)]
struct Way<'a> {
    from: &'a Store,
    to: &'a Store,
    /// Whether to replace text that looks like a secret, everywhere except in files.
    redact: bool,
}

impl Sharing {
    /// Passes versions together, and adds up what came of it; if one of them is damaged, one by one,
    /// so that the others get through. Returns the objects with a damaged version, with the error.
    fn pass_page(
        &self,
        way: Way<'_>,
        versions: Vec<Version>,
        mut add: impl FnMut(Imported),
    ) -> Result<Vec<(ObjectId, Error)>> {
        let mut damaged = Vec::new();
        if versions.is_empty() {
            return Ok(damaged);
        }
        match self.pass(way, versions.clone()) {
            Err(error) if error.is_damage() => {
                for version in versions {
                    let id = version.envelope.id.clone();
                    match self.pass(way, vec![version]) {
                        Err(error) if error.is_damage() => damaged.push((id, error)),
                        passed => add(passed?),
                    }
                }
            }
            passed => add(passed?),
        }
        Ok(damaged)
    }

    /// Passes versions together.
    fn pass(&self, way: Way<'_>, versions: Vec<Version>) -> Result<Imported> {
        let options = ImportOptions {
            is_excluded: self.options.is_excluded.clone(),
            ..ImportOptions::default()
        };
        let taking = Taking { redact: way.redact, nicknames: &[], options: &options };
        way.to.take(way.from, versions, taking, &mut |_| Ok(()))
    }
}
