//! What is derived from versions and items, and how it follows when these are replaced. Only explicit commands come here.

use rusqlite::{Connection, Transaction};

use super::failure::Step;
use super::index;
use super::relation_index;
use crate::object::ObjectId;

/// Makes what is derived from some objects that of the versions that there are now. What was derived from the text before
/// stays in the file's pages until [`drop_former`].
pub(super) fn derive_anew(
    transaction: &Transaction<'_>,
    store_id: &str,
    ids: &[ObjectId],
) -> Step<()> {
    index::reindex_objects(transaction, store_id, ids)?;
    relation_index::reindex_objects(transaction, store_id, ids)
}

/// Leaves nothing in the indexes of what was derived from text that is gone.
pub(super) fn drop_former(connection: &Connection) -> Step<()> {
    index::merge(connection)
}
