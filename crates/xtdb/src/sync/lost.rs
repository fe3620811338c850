//! What follows when a shared store no longer has what it acknowledged: it was put back from a
//! backup, or a new, empty one is at its address. Everything is compared again, and what it lacks is
//! sent again as it was. Must not decide what is shared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::state::{Last, State};
use super::{Connected, Pushed, Sharing};
use base::error::Result;
use base::object::{AsOf, ObjectId, Timestamp, TxId};
use store::archive::session_versions;

/// That a shared store was found to lack what it had acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// When it was noticed.
    pub noticed: Timestamp,
    /// Whether another store was at the address, with nothing of what was there.
    pub is_other: bool,
    /// Versions sent again so far.
    pub versions: u64,
    /// When all of them were there again; `None` before that.
    pub done: Option<Timestamp>,
}

/// What is still to be compared with a shared store that lost something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Again {
    /// The last transaction of the local store that was there.
    pub(super) until: TxId,
    /// Sessions that were there, see [`State::named`].
    pub(super) sessions: BTreeMap<ObjectId, TxId>,
}

/// A shared store that lost something, and what was known to be there.
pub(super) struct Lost {
    is_other: bool,
    known: State,
}

impl Lost {
    pub(super) fn noticed(&self, now: Timestamp) -> Restored {
        Restored { noticed: now, is_other: self.is_other, versions: 0, done: None }
    }
}

impl State {
    /// The state that compares everything again.
    fn anew(self, restored: Restored) -> Self {
        let before = self.again.unwrap_or_default();
        let until = before.until.max(self.pushed);
        let mut sessions = before.sessions;
        let whole = self.sessions.into_iter().map(|id| (id, until));
        for (id, sent) in whole.chain(self.named) {
            let known = sessions.entry(id).or_default();
            *known = sent.max(*known);
        }
        let again = Some(Again { until, sessions });
        Self { again, restored: Some(restored), ..Self::default() }
    }

    /// Counts versions that were sent again.
    pub(super) fn count_again(&mut self, versions: u64) {
        if let Some(restored) = &mut self.restored {
            restored.versions += versions;
        }
    }
}

impl Sharing {
    /// Whether the store at the address lost what was known to be there.
    pub(super) fn look_for_loss(&self, shared: &Connected) -> Result<Option<Lost>> {
        let known = State::read(&self.local, shared.store.id())?;
        let newest = shared.backend.newest_of_same(&known.marks())?;
        if newest.is_none_or(|newest| newest.id < known.pulled.0) {
            return Ok(Some(Lost { is_other: false, known }));
        }
        let before = Last::read(&self.local, &self.options.shared.url)?.store_id;
        let Some(before) = before.filter(|before| before != shared.store.id()) else {
            return Ok(None);
        };
        let there = State::read(&self.local, &before)?;
        let is_new = known == State::default() && there != State::default();
        Ok(is_new.then_some(Lost { is_other: true, known: there }))
    }

    /// Has everything compared again.
    pub(super) fn begin_anew(&self, shared: &Connected, lost: Lost) -> Result<()> {
        let restored = lost.noticed(self.local.now());
        lost.known.anew(restored).write(&self.local, shared.store.id())
    }

    /// Sends the sessions again that were sent or taken one by one, or while sessions were shared;
    /// of own ones no more than was there.
    pub(super) fn send_sessions_again(
        &self,
        shared: &Connected,
        pushed: &mut Pushed,
    ) -> Result<()> {
        loop {
            let state = State::read(&self.local, shared.store.id())?;
            let next = state.again.and_then(|again| again.sessions.into_iter().next());
            let Some((id, sent)) = next else { return Ok(()) };
            let mut versions = Vec::new();
            if self.local.get(&id, AsOf::Latest)?.is_some() {
                versions = session_versions(&self.local, &id)?;
            }
            let own = self.local.id();
            versions.retain(|version| version.tx_id <= sent || version.origin.store_id != own);
            let before = pushed.versions;
            self.send_page(shared, self.not_forgotten(versions)?, pushed)?;
            let again = pushed.versions - before;
            pushed.again += again;
            let is_whole = self.options.sessions;
            self.advance(shared, true, |state| {
                state.count_again(again);
                if let Some(again) = &mut state.again {
                    again.sessions.remove(&id);
                }
                state.named.insert(id.clone(), sent);
                if is_whole {
                    state.sessions.insert(id);
                }
            })?;
        }
    }

    /// Notes that all is there again, if it is.
    pub(super) fn end_again(&self, shared: &Connected) -> Result<()> {
        let mut state = State::read(&self.local, shared.store.id())?;
        let Some(again) = &state.again else { return Ok(()) };
        if !again.sessions.is_empty() || state.pushed < again.until {
            return Ok(());
        }
        state.again = None;
        if let Some(restored) = &mut state.restored {
            restored.done = Some(self.local.now());
        }
        state.write(&self.local, shared.store.id())
    }
}
