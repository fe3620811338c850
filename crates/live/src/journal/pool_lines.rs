//! The lines of the metadata pool. Those of stored versions are kept in memory, because each call
//! needs all of them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::Value;

use super::Journal;
use super::staged::StagedObject;
use base::error::Result;
use base::object::{AsOf, Nickname, ObjectId, TxId, metadata_line, metadata_view};
use context::pools_layout::PoolLine;

/// A line, with the transaction of the version that it is of, and the nickname in it.
type KeptLine = (TxId, Option<Nickname>, PoolLine);

/// Lines by object.
#[derive(Debug, Default)]
pub(super) struct PoolLines(RefCell<HashMap<ObjectId, KeptLine>>);

impl Journal {
    /// The line of an object's latest version, staged or stored: the fields that its own `view`
    /// names, else those of its type and its nickname.
    pub(crate) fn pool_line(&self, id: &ObjectId) -> Result<Option<PoolLine>> {
        // Others' sessions may have given it one.
        let is_seen = !self.state.is_confined();
        let nicknames = if is_seen { self.store.nicknames(id)? } else { Vec::new() };
        let nickname = nicknames.into_iter().next();
        if let Some(StagedObject { envelope, payload, .. }) = self.staged(id) {
            let additional = |name: &str| Ok(payload.additional.get(name).cloned());
            let view = metadata_view(envelope, &payload.fields, nickname.as_ref(), additional)?;
            return Ok(Some(self.line_of(id, view)));
        }
        let Some(latest) = self.store.glance(id)? else { return Ok(None) };
        // A redaction changes a version in place.
        let known =
            self.pool_lines.0.borrow().get(id).filter(|_| latest.redacted.is_none()).cloned();
        if let Some((tx_id, named, line)) = known
            && (tx_id, &named) == (latest.tx_id, &nickname)
        {
            return Ok(Some(line));
        }
        let Some(version) = self.store.get(id, AsOf::Latest)? else { return Ok(None) };
        let additional = |name: &str| self.store.additional(&version, name);
        let view =
            metadata_view(&version.envelope, &version.fields, nickname.as_ref(), additional)?;
        let line = self.line_of(id, view);
        let kept = (version.tx_id, nickname, line.clone());
        self.pool_lines.0.borrow_mut().insert(id.clone(), kept);
        Ok(Some(line))
    }

    fn line_of(&self, id: &ObjectId, mut view: Vec<(String, Value)>) -> PoolLine {
        let shown = self.state.index().get(id).map(|entry| entry.subject.agent_path());
        let path = view.iter_mut().find(|(name, _)| name == "path");
        if let (Some(shown), Some((_, path))) = (shown.filter(|shown| !shown.is_empty()), path) {
            *path = Value::from(shown);
        }
        PoolLine::of(metadata_line(&view))
    }
}
