//! Follows the links of files whose text the model knows: the files that they lead to enter the session index and, in
//! `pools`, the metadata pool (memory-system-v0 section 5.2).
//!
//! Never reads a content, and never fails a call: what goes wrong here is left out and tried again at the next call.

use std::collections::HashSet;

use super::LiveSession;
use crate::context::pools_layout;
use crate::error::Result;
use crate::graph::{Graph, TargetState};
use crate::object::{AsOf, Hash, ObjectId, file_type};
use crate::session::{Cause, Event};
use crate::settings::Layout;
use crate::source::Location;
use crate::store::{RelationKind, is_markdown_type};

/// A file that a link leads to.
struct Linked {
    object: ObjectId,
    location: Location,
    version: Hash,
}

impl LiveSession {
    /// Follows the links that were not followed yet, as far as `linkedTokens` and in `pools` the room in the pool go.
    pub(super) fn follow_links(&mut self) {
        let left = self.settings.linked_tokens.saturating_sub(self.state.links().tokens());
        if left == 0 {
            return;
        }
        for event in self.followed(left).unwrap_or_default() {
            self.record(event);
        }
    }

    /// The files whose links are to be followed, in order of entry, with their versions. One that is only committed with
    /// this call is left to the next: relations are those of stored versions.
    fn unfollowed(&self) -> Result<Vec<(ObjectId, Hash)>> {
        let mut files = Vec::new();
        for (id, path, version) in self.state.files_with_known_text() {
            if !is_markdown_type(file_type(path)) || self.state.links().are_followed(id, version) {
                continue;
            }
            let stored = self.store.get(id, AsOf::Latest)?;
            if stored.is_some_and(|stored| stored.content_hash == *version) {
                files.push((id.clone(), version.clone()));
            }
        }
        Ok(files)
    }

    /// The events of following links, which may bring in lines of so many tokens.
    fn followed(&self, left: u64) -> Result<Vec<Event>> {
        let files = self.unfollowed()?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut room = left;
        if self.settings.layout == Layout::Pools {
            let metadata = |id: &ObjectId| self.metadata_line(id).ok().flatten();
            room = room.min(pools_layout::room(&self.state, self.settings.pool_tokens, &metadata));
        }
        let exists = |filesystem_id: &str, path: &str| self.namespace.exists(filesystem_id, path);
        let graph = Graph::open(&self.store, AsOf::Latest, &exists)?;
        let mut met = HashSet::new();
        let mut events = Vec::new();
        for (object, version) in files {
            let linked = self.linked(&graph, &object, &mut met)?;
            let before = room;
            for Linked { object, location, version } in pools_layout::fitting(linked, &mut room) {
                let met = self.met(object, &location, version, Cause::Linked);
                events.push(Event::File(met));
            }
            events.push(Event::Linked { object, version, tokens: before - room });
        }
        Ok(events)
    }

    /// The files that a file links to and that the session has not met, in the order of the links, with their metadata lines.
    fn linked(
        &self,
        graph: &Graph<'_>,
        from: &ObjectId,
        met: &mut HashSet<ObjectId>,
    ) -> Result<Vec<(Linked, String)>> {
        let mut linked = Vec::new();
        for link in graph.links(from)? {
            let is_link =
                matches!(link.relation.kind, RelationKind::Wikilink | RelationKind::Markdown);
            let Some(object) = link.target.id else { continue };
            let is_there = link.target.state == TargetState::Found;
            let is_known = self.state.index().get(&object).is_some();
            if !is_link || !is_there || is_known || !met.insert(object.clone()) {
                continue;
            }
            let Some(version) = self.store.get(&object, AsOf::Latest)? else { continue };
            let Some(location) = self.location_of(&object)? else { continue };
            let Some(line) = self.metadata_line(&object)? else { continue };
            linked.push((Linked { object, location, version: version.content_hash }, line));
        }
        Ok(linked)
    }
}
