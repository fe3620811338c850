//! Carries over what a person chose to forget, to the shared store and from it. Must not decide
//! what is forgotten.

use std::collections::BTreeSet;

use super::state::State;
use super::{Connected, Pushed, Sharing};
use base::error::{Error, Result};
use base::object::{AsOf, ObjectId};
use store::archive::session_versions;
use store::{ForgetOptions, OnProgress, Progress, Stage, Version};

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
                objects.extend(self.local.get(id, AsOf::Latest)?);
            }
            shared.backend.forget(&objects, &replaced.banned)?;
            let mut changed = BTreeSet::new();
            for id in &replaced.changed {
                if shared.store.get(id, AsOf::Latest)?.is_some() {
                    changed.insert(id.clone());
                }
            }
            shared.backend.erase(&changed)?;
            for id in &changed {
                self.send(shared, self.whole(id)?)?;
            }
            reached.extend(objects.into_iter().map(|version| version.envelope.id));
            reached.extend(changed);
            pushed.forgotten = reached.len() as u64;
            progress(Progress { stage: Stage::Sending, done: pushed.forgotten, of: None })?;
            self.advance(shared, false, |state| state.replaced = number)?;
        }
        Ok(())
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

    /// Forgets here what others chose to forget; returns the number of objects.
    pub(super) fn forget_here(&self, ids: &[ObjectId]) -> Result<u64> {
        let mut count = 0;
        for id in ids {
            if self.local.get(id, AsOf::Latest)?.is_none() || self.local.is_forgotten(id)? {
                continue;
            }
            let options = ForgetOptions { dry_run: false, everywhere: false };
            self.local.forget(id, options)?;
            count += 1;
        }
        Ok(count)
    }
}
