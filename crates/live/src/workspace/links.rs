//! Follows the links of files whose text the model knows: linked files enter the session index and,
//! with the layout `pools`, the metadata pool. In `log` a note names them.
//!
//! Never reads content, and never fails a call: links that fail are skipped and tried again with
//! the next call.

use std::collections::HashSet;

use crate::LiveSession;
use crate::journal::Journal;
use base::error::Result;
use base::object::{AsOf, Hash, ObjectId, file_type};
use config::Layout;
use context::pools_layout::{self, PoolLine};
use context::{forms, tokens};
use graph::{Graph, TargetState};
use session::{Cause, Event, Note};
use source::Location;
use store::{RelationKind, is_markdown_type};

/// A file that a link leads to.
struct Linked {
    object: ObjectId,
    location: Location,
    version: Hash,
}

impl LiveSession {
    /// Follows new links, within the setting `linkedTokens` and, in `pools`, the free room in the
    /// metadata pool.
    ///
    /// `note_at`: as in [`Self::refresh`]; in `log` links wait for it.
    pub(super) fn follow_links(&mut self, note_at: Option<u64>) {
        let is_log = self.options.settings.layout == Layout::Log;
        if is_log && note_at.is_none() {
            return;
        }
        let limit = self.options.settings.linked_tokens;
        let left = limit.saturating_sub(self.state().links().tokens);
        if left == 0 {
            return;
        }
        let mut linked = Vec::new();
        for event in self.followed(left).unwrap_or_default() {
            let mut from = None;
            match &event {
                Event::File(file) => linked.push(file.object.clone()),
                Event::Linked { object, .. } => from = Some(object.clone()),
                _ => {}
            }
            self.journal.record(event);
            let Some(from) = from else { continue };
            let text = links_text(&self.journal, &from, &std::mem::take(&mut linked));
            if let (Some(text), Some(at), true) = (text, note_at, is_log) {
                let tokens = tokens::count(&text);
                self.journal.record(Event::noted(at, Note::of(text, tokens)));
            }
        }
    }

    /// The events for following new links. `left`: token budget for metadata lines of linked files.
    fn followed(&self, left: u64) -> Result<Vec<Event>> {
        let files = unfollowed(&self.journal)?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut room = left;
        if self.options.settings.layout == Layout::Pools {
            let metadata = |id: &ObjectId| self.journal.pool_line(id).ok().flatten();
            let pool_tokens = self.options.settings.pool_tokens;
            room = room.min(pools_layout::room(self.state(), pool_tokens, &metadata));
        }
        let namespace = &self.disk.namespace;
        let exists = |filesystem_id: &str, path: &str| namespace.exists(filesystem_id, path);
        let graph = Graph::open(&self.journal.store, AsOf::Latest, &exists)?;
        let mut met = HashSet::new();
        let mut events = Vec::new();
        for (object, version) in files {
            let linked = self.linked(&graph, &object, &mut met)?;
            let before = room;
            for Linked { object, location, version } in pools_layout::fitting(linked, &mut room) {
                let event = self.disk.file_event(object, &location, version, Cause::Linked);
                events.push(Event::File(event));
            }
            events.push(Event::Linked { object, version, tokens: before - room });
        }
        Ok(events)
    }

    /// The files to which a file links and that are new to the session, with their metadata lines,
    /// in the order of the links.
    fn linked(
        &self,
        graph: &Graph<'_>,
        from: &ObjectId,
        met: &mut HashSet<ObjectId>,
    ) -> Result<Vec<(Linked, PoolLine)>> {
        let mut linked = Vec::new();
        for link in graph.links(from)? {
            let is_link =
                matches!(link.relation.kind, RelationKind::Wikilink | RelationKind::Markdown);
            let Some(object) = link.target.id else { continue };
            let is_there = link.target.state == TargetState::Found;
            let is_known = self.state().subject(&object).is_some();
            if !is_link || !is_there || is_known || !met.insert(object.clone()) {
                continue;
            }
            let Some(version) = self.journal.store.get(&object, AsOf::Latest)? else { continue };
            let Some(location) = self.location_of(&object)? else { continue };
            let Some(line) = self.journal.pool_line(&object)? else { continue };
            linked.push((Linked { object, location, version: version.content_hash }, line));
        }
        Ok(linked)
    }
}

/// What names the files that a file links to; `None` if there are none.
fn links_text(journal: &Journal, from: &ObjectId, linked: &[ObjectId]) -> Option<String> {
    let named = |id: &ObjectId| journal.state().shown_file(id);
    let linked: Vec<_> = linked.iter().filter_map(named).collect();
    if linked.is_empty() { None } else { Some(forms::links_line(named(from)?, &linked)) }
}

/// The files whose links were not followed yet, with their versions, in the order in which they
/// entered the session. A version that is not committed waits for the next call: only stored
/// versions have relations.
fn unfollowed(journal: &Journal) -> Result<Vec<(ObjectId, Hash)>> {
    let mut files = Vec::new();
    let state = journal.state();
    for (id, path, version) in state.files_with_known_text() {
        if !is_markdown_type(file_type(path)) || state.links().are_followed(id, version) {
            continue;
        }
        let stored = journal.store.get(id, AsOf::Latest)?;
        if stored.is_some_and(|stored| stored.content_hash == *version) {
            files.push((id.clone(), version.clone()));
        }
    }
    Ok(files)
}
