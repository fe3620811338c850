//! What the file holds of an object beside its versions and items, and how it is removed. Only explicit commands come here.

use rusqlite::{Connection, named_params};

use super::failure::Step;
use super::relation_index;
use crate::object::ObjectId;

/// Removes what was derived from an object, or points to it, so that nothing of its text is left there.
pub(super) fn remove(connection: &Connection, object: i64) -> Step<()> {
    connection
        .prepare_cached("DELETE FROM nickname WHERE object = :object")?
        .execute(named_params! { ":object": object })?;
    Ok(())
}

/// Derives from objects anew what is derived from them, after their texts were replaced.
pub(super) fn derive_anew(connection: &Connection, store_id: &str, ids: &[ObjectId]) -> Step<()> {
    relation_index::reindex_objects(connection, store_id, ids)
}
