//! Sends what the local store has and the shared one lacks, in the order in which it was written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::state::{Last, State};
use super::{Connected, Sharing, VERSIONS_AT_ONCE, Way};
use crate::server::mark;
use base::error::Result;
use base::object::{ObjectId, ObjectType, RedactionReason};
use store::archive::session_versions;
use store::{Imported, LeftOut, OnProgress, Progress, Stage, Version};

/// The result of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Versions that the shared store lacked.
    pub versions: u64,
    /// Versions that it already had.
    pub present: u64,
    /// Versions among those sent that it had before, and lost.
    pub again: u64,
    /// What was left out, with the reason, by object.
    pub left_out: Vec<LeftOut>,
    /// Objects whose text was removed there, as it was here.
    pub forgotten: u64,
}

impl Pushed {
    fn add(&mut self, imported: Imported) {
        self.versions += imported.versions;
        self.present += imported.present;
        let mut left_out: BTreeMap<(ObjectId, &'static str), LeftOut> = BTreeMap::new();
        for one in self.left_out.drain(..).chain(imported.left_out) {
            let versions = one.versions;
            left_out
                .entry((one.id.clone(), one.reason))
                .and_modify(|known| known.versions += versions)
                .or_insert(one);
        }
        self.left_out = left_out.into_values().collect();
    }
}

impl Sharing {
    /// Sends everything that waits, and returns when it is committed there. Progress counts
    /// versions.
    ///
    /// # Errors
    /// Those of [`crate::XtdbBackend::connect`] and of reading the local store. Versions already
    /// sent stay sent.
    pub fn push(&self, progress: OnProgress<'_>) -> Result<Pushed> {
        self.noting(|shared| self.push_to(shared, progress))
    }

    pub(super) fn push_to(&self, shared: &Connected, progress: OnProgress<'_>) -> Result<Pushed> {
        let mut pushed = Pushed::default();
        self.forget_there(shared, &mut pushed, progress)?;
        self.push_changes(shared, &mut pushed, progress)?;
        self.introduce(shared)?;
        Ok(pushed)
    }

    /// Sends one session from its start, whatever the setting says.
    ///
    /// # Errors
    /// `NOT_FOUND`; `INVALID_ARGUMENT` if it is not a session; as [`Self::push`].
    pub fn push_session(&self, id: &ObjectId) -> Result<Pushed> {
        let until = self.newest()?;
        let versions = session_versions(&self.local, id)?;
        self.noting(|shared| {
            let mut pushed = Pushed::default();
            pushed.add(self.send(shared, versions)?);
            self.advance(shared, pushed.present > 0, |state| {
                state.named.insert(id.clone(), until);
            })?;
            Ok(pushed)
        })
    }

    fn push_changes(
        &self,
        shared: &Connected,
        pushed: &mut Pushed,
        progress: OnProgress<'_>,
    ) -> Result<()> {
        self.send_sessions_again(shared, pushed)?;
        // Versions that went with their whole session.
        let mut sent = HashSet::new();
        let place = |version: &Version| (version.tx_id, version.envelope.id.clone());
        let mut after = State::read(&self.local, shared.store.id())?.pushed;
        loop {
            let mut state = State::read(&self.local, shared.store.id())?;
            let mut versions = self.local.changes(after, VERSIONS_AT_ONCE)?;
            // What is sent again ends with a page, because it is counted.
            let until = state.again.map(|again| again.until).filter(|until| after < *until);
            versions.retain(|version| until.is_none_or(|until| version.tx_id <= until));
            let Some(last) = versions.last().map(|version| version.tx_id).or(until) else { break };
            let before = (pushed.versions, pushed.present);
            let is_foreign = versions.iter().any(|one| one.origin.store_id != self.local.id());
            if self.options.sessions {
                for id in new_sessions(&versions, &state.sessions, self.local.id()) {
                    let whole = session_versions(&self.local, &id)?;
                    sent.extend(whole.iter().map(place));
                    pushed.add(self.send(shared, whole)?);
                    state.sessions.insert(id);
                }
                versions.retain(|version| !sent.contains(&place(version)));
            }
            let lacking = self.lacking(shared, versions)?;
            self.send_page(shared, lacking, pushed)?;
            let again = until.map_or(0, |_| pushed.versions - before.0);
            pushed.again += again;
            self.advance(shared, is_foreign || pushed.present > before.1, |known| {
                known.pushed = last;
                known.sessions.extend(state.sessions);
                known.count_again(again);
            })?;
            after = last;
            let done = pushed.versions + pushed.present;
            progress(Progress { stage: Stage::Sending, done, of: None })?;
        }
        self.end_again(shared)?;
        let url = &self.options.shared.url;
        let mut last = Last::read(&self.local, url)?;
        last.alike = Some(self.local.now());
        last.write(&self.local, url)
    }

    /// Whether a version is of a kind that is shared.
    pub(super) fn is_shared(&self, version: &Version) -> bool {
        version.envelope.kind == ObjectType::File || self.options.sessions
    }

    /// The versions to send. Most versions of foreign origin came from the shared store, which is
    /// asked about all of them at once.
    fn lacking(&self, shared: &Connected, versions: Vec<Version>) -> Result<Vec<Version>> {
        let (own, foreign): (Vec<Version>, Vec<Version>) =
            versions.into_iter().partition(|version| version.origin.store_id == self.local.id());
        let known = shared.backend.known(&foreign)?;
        let lacking = foreign.into_iter().filter(|version| !known.contains(&mark(version)));
        let mut lacking: Vec<Version> = own.into_iter().chain(lacking).collect();
        lacking.sort_by_key(|version| version.tx_id);
        lacking.retain(|version| self.is_shared(version));
        self.not_forgotten(lacking)
    }

    pub(super) fn not_forgotten(&self, versions: Vec<Version>) -> Result<Vec<Version>> {
        let mut sent = Vec::new();
        for version in versions {
            if !self.is_forgotten(&version)? {
                sent.push(version);
            }
        }
        Ok(sent)
    }

    fn is_forgotten(&self, version: &Version) -> Result<bool> {
        let reason = version.redacted.as_ref().map(|redacted| redacted.reason);
        Ok(reason == Some(RedactionReason::Forgotten)
            && self.local.is_forgotten(&version.envelope.id)?)
    }

    pub(super) fn send_page(
        &self,
        shared: &Connected,
        versions: Vec<Version>,
        pushed: &mut Pushed,
    ) -> Result<()> {
        let way = self.way_there(shared);
        let damaged = self.pass_page(way, versions, |imported| pushed.add(imported))?;
        pushed.left_out.extend(damaged.into_iter().map(|(id, error)| {
            let detail = error.to_string();
            LeftOut { id, path: None, reason: "damaged", detail, versions: 1 }
        }));
        Ok(())
    }

    pub(super) fn send(&self, shared: &Connected, versions: Vec<Version>) -> Result<Imported> {
        self.pass(self.way_there(shared), versions)
    }

    fn way_there<'a>(&'a self, shared: &'a Connected) -> Way<'a> {
        Way { from: &self.local, to: &shared.store, redact: true }
    }
}

/// Sessions among the versions that are not in the shared store from their start.
fn new_sessions(versions: &[Version], known: &BTreeSet<ObjectId>, own: &str) -> Vec<ObjectId> {
    let is_own = |version: &&Version| {
        version.envelope.kind == ObjectType::Session && version.origin.store_id == own
    };
    let sessions = versions.iter().filter(is_own);
    let mut ids: Vec<ObjectId> = sessions
        .map(|version| version.envelope.id.clone())
        .filter(|id| !known.contains(id))
        .collect();
    ids.sort();
    ids.dedup();
    ids
}
