//! Objects whose latest version changed in an import.

use super::ChangedLatest;
use super::merge::Merge;
use super::standing::Placed;
use base::error::Result;
use base::object::{AsOf, ObjectId, Origin, Source};

impl Merge<'_> {
    /// The objects that the store had before and whose latest version changed, by ID.
    pub(super) fn changed(&self) -> Result<Vec<ChangedLatest>> {
        let mut changed: Vec<(&ObjectId, &Origin, Origin)> = Vec::new();
        for (id, before) in &self.before {
            let last = self.objects.get(id).and_then(|object| object.last.as_ref());
            if let Some(after) = last.map(origin).filter(|after| after != before) {
                changed.push((id, before, after));
            }
        }
        changed.sort_by_key(|(id, ..)| *id);
        changed.into_iter().map(|(id, before, after)| self.described(id, before, after)).collect()
    }

    fn described(&self, id: &ObjectId, before: &Origin, after: Origin) -> Result<ChangedLatest> {
        let envelope = match self.history_of(id).first() {
            Some(version) => version.envelope.clone(),
            None => self.store.require(id, AsOf::Latest)?.envelope,
        };
        let path = envelope.source.as_ref().and_then(Source::path).map(str::to_owned);
        Ok(ChangedLatest {
            id: id.clone(),
            kind: envelope.kind,
            path,
            before: before.time,
            after: after.time,
            store_id: after.store_id,
        })
    }
}

fn origin(placed: &Placed) -> Origin {
    let (_, time, store_id, tx_id, _) = placed.rank.clone();
    Origin { store_id, tx_id, time }
}
