//! Carries over what a person chose to forget, to the shared store and from it. Must not decide
//! what is forgotten.

use std::collections::BTreeSet;

use super::state::State;
use super::{Connected, Pushed, Sharing};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId, ObjectType, Source};
use store::archive::session_versions;
use store::{ForgetOptions, OnProgress, Progress, Stage, Version, session_of};

impl Sharing {
    /// Removes from the shared store what was removed here since the last time. Documents that lost
    /// lines are sent again.
    pub(super) fn forget_there(
        &self,
        shared: &Connected,
        pushed: &mut Pushed,
        progress: OnProgress<'_>,
    ) -> Result<()> {
        let after = State::read(&self.local, shared.store.id())?.replaced;
        // One act is noted in several turns.
        let mut reached = BTreeSet::new();
        for (number, replaced) in self.local.upkeep("sharing")?.replaced(after)? {
            let mut objects = Vec::new();
            for id in &replaced.forgotten {
                let latest = self.local.get(id, AsOf::Latest)?;
                let is_file = |version: &Version| version.envelope.kind == ObjectType::File;
                if latest.as_ref().is_some_and(is_file) || self.is_there(shared, id)? {
                    objects.extend(latest);
                }
            }
            reached.extend(shared.backend.forget(&objects, &replaced.banned)?);
            let mut changed = BTreeSet::new();
            for id in &replaced.changed {
                if self.is_there(shared, id)? {
                    changed.insert(id.clone());
                }
            }
            shared.backend.erase(&changed)?;
            for id in &changed {
                self.send(shared, self.whole(id)?)?;
            }
            reached.extend(changed);
            pushed.forgotten = reached.len() as u64;
            progress(Progress { stage: Stage::Sending, done: pushed.forgotten, of: None })?;
            self.advance(shared, false, |state| state.replaced = number)?;
        }
        Ok(())
    }

    /// Whether the shared store has a version of an object that is also here. Local servers repeat
    /// `call_0`: what is there under an ID may be another's.
    fn is_there(&self, shared: &Connected, id: &ObjectId) -> Result<bool> {
        Ok(!shared.backend.known(&self.local.history(id)?)?.is_empty())
    }

    /// The versions of an object, oldest first; of a session, everything that it refers to.
    fn whole(&self, id: &ObjectId) -> Result<Vec<Version>> {
        match session_versions(&self.local, id) {
            Err(Error::InvalidArgument { .. }) => {
                let mut versions = self.local.history(id)?;
                versions.reverse();
                Ok(versions)
            }
            versions => versions,
        }
    }

    /// Forgets here what others chose to forget, of what is shared; returns the number of objects.
    pub(super) fn forget_here(&self, shared: &Connected, ids: &[ObjectId]) -> Result<u64> {
        let mut count = 0;
        for id in ids {
            let history = self.local.history(id)?;
            if self.is_common(shared, &history)? && !self.local.is_forgotten(id)? {
                let options = ForgetOptions { dry_run: false, everywhere: false };
                count += self.local.forget(id, options)?.objects.len() as u64;
            }
        }
        Ok(count)
    }

    /// Whether others have a say about an object: one that came from elsewhere, a file that is
    /// shared, or a part of a session that was sent.
    fn is_common(&self, shared: &Connected, history: &[Version]) -> Result<bool> {
        let Some(Version { envelope, fields, .. }) = history.first() else { return Ok(false) };
        if history.iter().any(|version| version.origin.store_id != self.local.id()) {
            return Ok(true);
        }
        if envelope.kind == ObjectType::File {
            let path = envelope.source.as_ref().and_then(Source::path);
            return Ok(!path.is_some_and(|path| (self.options.is_excluded)(path)));
        }
        let state = State::read(&self.local, shared.store.id())?;
        let session =
            session_of(envelope, fields).map(|name| ObjectId::new(format!("session:{name}")));
        Ok(session.is_some_and(|id| state.sessions.contains(&id) || state.named.contains_key(&id)))
    }
}
