//! Takes what others wrote into the shared store, in its order: their files, and requested
//! sessions.

use std::sync::atomic::Ordering;

use super::state::{Ahead, State};
use super::{Connected, Sharing, VERSIONS_AT_ONCE, Way};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType, session_name};
use store::archive::session_versions;
use store::rules::is_ahead;
use store::{
    ChangedLatest, Imported, LeftOut, OnProgress, PartedSession, Progress, Stage, Version,
};

/// The result of a pull.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pulled {
    /// Versions that the local store lacked.
    pub versions: u64,
    /// Versions that it already had.
    pub present: u64,
    /// Objects already in the local store whose latest version changed.
    pub changed: Vec<ChangedLatest>,
    /// Sessions that continued differently here.
    pub parted: Vec<PartedSession>,
    /// What was left out, with the reason, by object.
    pub left_out: Vec<LeftOut>,
    /// Objects that others chose to forget, and that are now forgotten here.
    pub forgotten: u64,
    /// Documents of the shared store that are not ours, in words.
    pub broken: Vec<String>,
}

impl Pulled {
    fn add(&mut self, imported: Imported) {
        self.versions += imported.versions;
        self.present += imported.present;
        self.changed.extend(imported.changed);
        self.parted.extend(imported.parted);
        self.left_out.extend(imported.left_out);
    }
}

impl Sharing {
    /// Takes what others wrote since the last time. Progress counts versions.
    ///
    /// # Errors
    /// Those of [`crate::XtdbBackend::connect`] and of writing to the local store. Versions already
    /// taken stay.
    pub fn pull(&self, progress: OnProgress<'_>) -> Result<Pulled> {
        self.noting(|shared| self.pull_from(shared, progress))
    }

    pub(super) fn pull_from(&self, shared: &Connected, progress: OnProgress<'_>) -> Result<Pulled> {
        let mut pulled = Pulled::default();
        self.take_ahead(shared, &mut pulled)?;
        let after = State::read(&self.local, shared.store.id())?.pulled;
        if shared.newest == Some(after) {
            return Ok(pulled);
        }
        shared.backend.log(after, VERSIONS_AT_ONCE, &mut |logged| {
            let broken = logged.broken.iter();
            pulled.broken.extend(broken.map(Error::to_string));
            self.remember(&logged.machines)?;
            let (taken, ahead) = self.parted_by_time(logged.versions);
            self.take_page(shared, taken, &mut pulled)?;
            pulled.forgotten += self.forget_here(shared, &logged.forgotten)?;
            let mut state = State::read(&self.local, shared.store.id())?;
            for one in ahead {
                if !state.ahead.iter().any(|known| known.is_same(&one)) {
                    state.ahead.push(one);
                }
            }
            (state.pulled, state.pulled_at) = (logged.until, Some(logged.time));
            self.save(shared, state)?;
            let done = pulled.versions + pulled.present;
            progress(Progress { stage: Stage::Taking, done, of: None })
        })?;
        self.took.fetch_or(pulled.versions > 0, Ordering::Relaxed);
        Ok(pulled)
    }

    /// Takes a session that another store shares, by its ID or its host's, with its chat and
    /// everything that it refers to.
    ///
    /// # Errors
    /// `UNKNOWN_NAME` if the shared store has none of that name, `AMBIGUOUS_NAME` if several; as
    /// [`Self::pull`].
    pub fn pull_session(&self, name: &str) -> Result<Pulled> {
        self.noting(|shared| {
            let mut pulled = Pulled::default();
            self.take_session(shared, session_of_name(shared, name)?, &mut pulled)?;
            Ok(pulled)
        })
    }

    /// As [`Self::pull`], with the sessions that other stores share and this one lacks; with `all`,
    /// also with what was added to those that it has.
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub fn pull_sessions(&self, all: bool, progress: OnProgress<'_>) -> Result<Pulled> {
        self.noting(|shared| {
            let mut pulled = self.pull_from(shared, progress)?;
            for there in shared.backend.sessions()? {
                let id = &there.envelope.id;
                let here = self.local.get(id, AsOf::Latest)?;
                let has_more = here.is_none_or(|here| all && !is_same(&here, &there));
                if has_more && !self.local.is_forgotten(id)? {
                    self.take_session(shared, id.clone(), &mut pulled)?;
                    let done = pulled.versions + pulled.present;
                    progress(Progress { stage: Stage::Taking, done, of: None })?;
                }
            }
            Ok(pulled)
        })
    }

    fn take_session(&self, shared: &Connected, id: ObjectId, pulled: &mut Pulled) -> Result<()> {
        let _kept = shared.backend.read_ahead();
        let versions = session_versions(&shared.store, &id)?;
        self.learn_authors(shared, &versions)?;
        shared.backend.read_texts_ahead(&versions)?;
        pulled.add(self.pass(self.way_here(shared), versions)?);
        self.advance(shared, true, |state| {
            state.named.entry(id).or_default();
        })
    }

    /// The versions of files to take now, and those whose time is far ahead.
    fn parted_by_time(&self, versions: Vec<Version>) -> (Vec<Version>, Vec<Ahead>) {
        let now = self.local.now();
        let files =
            versions.into_iter().filter(|version| version.envelope.kind == ObjectType::File);
        let (ahead, taken): (Vec<Version>, Vec<Version>) =
            files.partition(|version| is_ahead(version.origin.time, now));
        let wait = |version: Version| Ahead {
            id: version.envelope.id,
            tx_id: version.tx_id,
            time: version.origin.time,
            content_hash: Some(version.content_hash),
        };
        (taken, ahead.into_iter().map(wait).collect())
    }

    /// Takes the versions that waited for this machine's clock.
    fn take_ahead(&self, shared: &Connected, pulled: &mut Pulled) -> Result<()> {
        let mut state = State::read(&self.local, shared.store.id())?;
        let now = self.local.now();
        let (waiting, due): (Vec<Ahead>, Vec<Ahead>) =
            std::mem::take(&mut state.ahead).into_iter().partition(|one| is_ahead(one.time, now));
        if due.is_empty() {
            return Ok(());
        }
        let mut versions = Vec::new();
        for Ahead { id, tx_id, .. } in due {
            let version = shared.store.get(&id, AsOf::Tx(tx_id))?;
            // Unless it was forgotten since.
            versions.extend(version.filter(|version| version.tx_id == tx_id));
        }
        self.take_page(shared, versions, pulled)?;
        state.ahead = waiting;
        self.save(shared, state)
    }

    fn take_page(
        &self,
        shared: &Connected,
        versions: Vec<Version>,
        pulled: &mut Pulled,
    ) -> Result<()> {
        let way = self.way_here(shared);
        let damaged = self.pass_page(way, versions, |imported| pulled.add(imported))?;
        pulled.broken.extend(damaged.iter().map(|(_, error)| error.to_string()));
        Ok(())
    }

    fn way_here<'a>(&'a self, shared: &'a Connected) -> Way<'a> {
        Way { from: &shared.store, to: &self.local, redact: false }
    }

    /// Saves the progress, beside what another process may have sent meanwhile.
    fn save(&self, shared: &Connected, state: State) -> Result<()> {
        let known = State::read(&self.local, shared.store.id())?;
        let newer = if state.pulled >= known.pulled { &state } else { &known };
        let (pulled, pulled_at) = (newer.pulled, newer.pulled_at);
        State { pulled, pulled_at, ahead: state.ahead, ..known }
            .write(&self.local, shared.store.id())
    }
}

/// The session that a name means: an ID, with or without `session:`, or its host's ID, or the
/// beginning of either.
fn session_of_name(shared: &Connected, name: &str) -> Result<ObjectId> {
    let sessions = shared.backend.sessions()?;
    let by_id = |version: &Version| {
        let id = version.envelope.id.as_str();
        id == name || session_name(id) == name
    };
    let by_host = |version: &Version| host_session(version) == Some(name);
    let by_start = |version: &Version| {
        let id = version.envelope.id.as_str();
        let names = [Some(id), Some(session_name(id)), host_session(version)];
        names.into_iter().flatten().any(|known| known.starts_with(name))
    };
    let ways: [&dyn Fn(&Version) -> bool; 3] = [&by_id, &by_host, &by_start];
    for way in ways {
        let found: Vec<&Version> = sessions.iter().filter(|version| way(version)).collect();
        match &found[..] {
            [] => {}
            [one] => return Ok(one.envelope.id.clone()),
            several => {
                let ids = several.iter().map(|version| version.envelope.id.to_string());
                return Err(Error::AmbiguousName {
                    name: name.to_owned(),
                    candidates: ids.collect(),
                });
            }
        }
    }
    Err(Error::unknown_name(name))
}

fn is_same(one: &Version, other: &Version) -> bool {
    one.content_hash == other.content_hash && one.origin == other.origin
}

fn host_session(version: &Version) -> Option<&str> {
    version.fields.get("host_session")?.as_str()
}
