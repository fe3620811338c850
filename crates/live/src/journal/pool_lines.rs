//! The lines of the metadata pool. Those of stored versions are kept in memory, because each call
//! needs all of them.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Journal;
use base::error::Result;
use base::object::{AsOf, Nickname, ObjectId, TxId, metadata_line, metadata_view};
use context::pools_layout::PoolLine;

/// Lines by object, each with the transaction of the version that it is of.
#[derive(Debug, Default)]
pub(super) struct PoolLines(RefCell<HashMap<ObjectId, (TxId, PoolLine)>>);

impl Journal {
    /// The line of an object's latest version, staged or stored: the fields that its own `view`
    /// names, else those of its type.
    pub(crate) fn pool_line(&self, id: &ObjectId) -> Result<Option<PoolLine>> {
        if let Some((envelope, payload)) = self.staged(id) {
            let nickname = self.viewed_nickname(id, &payload.fields)?;
            let additional = |name: &str| Ok(payload.additional.get(name).cloned());
            let view = metadata_view(envelope, &payload.fields, nickname.as_ref(), additional)?;
            return Ok(Some(self.line_of(id, view)));
        }
        let Some(latest) = self.store.glance(id)? else { return Ok(None) };
        // A redaction changes a version in place.
        let known =
            self.pool_lines.0.borrow().get(id).filter(|_| latest.redacted.is_none()).cloned();
        if let Some((tx_id, line)) = known
            && tx_id == latest.tx_id
        {
            return Ok(Some(line));
        }
        let Some(version) = self.store.get(id, AsOf::Latest)? else { return Ok(None) };
        let nickname = self.viewed_nickname(id, &version.fields)?;
        let additional = |name: &str| self.store.additional(&version, name);
        let view =
            metadata_view(&version.envelope, &version.fields, nickname.as_ref(), additional)?;
        let line = self.line_of(id, view);
        // A nickname changes without a new version.
        if !views_nickname(&version.fields) {
            let kept = (version.tx_id, line.clone());
            self.pool_lines.0.borrow_mut().insert(id.clone(), kept);
        }
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

    /// The nickname of an object whose view names it. Others are not looked up, because there are
    /// many.
    fn viewed_nickname(
        &self,
        id: &ObjectId,
        fields: &Map<String, Value>,
    ) -> Result<Option<Nickname>> {
        if !views_nickname(fields) {
            return Ok(None);
        }
        Ok(self.store.nicknames(id)?.into_iter().next())
    }
}

fn views_nickname(fields: &Map<String, Value>) -> bool {
    let view = fields.get("view").and_then(Value::as_array);
    view.is_some_and(|names| names.iter().any(|name| name == "nickname"))
}
