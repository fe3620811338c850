//! What the file holds of an object beside its versions and items, and how it is removed. Only explicit commands come here.

use rusqlite::{Connection, named_params};

use super::failure::Step;

/// Removes what was derived from an object, or points to it, so that nothing of its text is left there.
pub(super) fn remove(connection: &Connection, object: i64) -> Step<()> {
    connection
        .prepare_cached("DELETE FROM nickname WHERE object = :object")?
        .execute(named_params! { ":object": object })?;
    Ok(())
}
