//! Sessions that belong together: those that split off from one, and copies of them that an import
//! made; and which of them was written last. Must not open any.

use super::Activity;
use base::error::Result;
use base::object::{AsOf, ObjectId, Timestamp, TxId};
use store::{Store, Version, copied_from};

/// When a session was last worked on; the greatest is that of the session written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LastWritten {
    /// The time; for an imported session, the time in its original store.
    pub(crate) time: Timestamp,
    /// The transaction in this store.
    tx_id: TxId,
    /// Whether it was written in this store.
    pub(crate) is_here: bool,
}

/// When a session was written last. Closing it is not work on it: the process may have had it open
/// for long beside another.
///
/// `document`: the latest version of its document.
pub(crate) fn written(store: &Store, document: &Version) -> Result<LastWritten> {
    let mut found = document.clone();
    while found.fields.get("state").is_some_and(|state| state == Activity::Paused.as_str()) {
        let before = AsOf::Tx(TxId(found.tx_id.0 - 1));
        let Some(earlier) = store.get(&found.envelope.id, before)? else { break };
        found = earlier;
    }
    // A session exported from here may come back as a copy.
    let is_copy = copied_from(&found.envelope.id).is_some();
    let is_here = found.origin.store_id == store.id() && !is_copy;
    Ok(LastWritten { is_here, time: found.origin.time, tx_id: found.tx_id })
}

/// The most that [`written`] may give for a session whose document was last written then.
pub(crate) fn written_at_most(session: &ObjectId, tx_id: TxId, time: Timestamp) -> LastWritten {
    LastWritten { is_here: copied_from(session).is_none(), time, tx_id }
}

/// The ID of the session from which one split off, or of which it is a copy; its own if neither.
pub(crate) fn stem(session: &ObjectId) -> &str {
    let original = copied_from(session).unwrap_or(session.as_str());
    let marked = original.rsplit_once('+').filter(|(_, mark)| is_mark(mark));
    marked.map_or(original, |(stem, _)| stem)
}

/// Whether this marks a session that split off: a number.
fn is_mark(mark: &str) -> bool {
    mark.parse::<u64>().is_ok_and(|number| number > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stem_is_the_id_without_marks() {
        for (id, expected) in [
            ("session:a", "session:a"),
            ("session:a+2", "session:a"),
            ("session:a~0198c2f1", "session:a"),
            ("session:a+12~0198c2f1", "session:a"),
            ("session:a+1", "session:a+1"),
            ("session:a+b", "session:a+b"),
            ("session:a~b", "session:a~b"),
            ("session:a@0198c2f1+3", "session:a@0198c2f1"),
        ] {
            assert_eq!(stem(&ObjectId::new(id)), expected, "{id}");
        }
    }
}
