//! Replaces versions and items with copies that lack the removed text. Runs only on a person's
//! command.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior, named_params};

use super::derived::reindex;
use super::failure::Step;
use super::pack::Packer;
use super::relation_index::Relations;
use super::rows::{self, hash_value};
use super::search_index::Terms;
use super::statements::Statements;
use super::{notes, read, write};
use crate::{Item, Replaced, Replacement, rules};
use base::error::Error;
use base::object::{Hash, ObjectId, TxId};

/// Replaces all or nothing, and updates the derived indexes. The old data is overwritten in the
/// file's pages, but not yet in the log.
pub(super) fn replace(
    connection: &mut Connection,
    store_id: &str,
    replacements: &[Replacement],
    banned: &[Hash],
    newest: TxId,
) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = write::newest(&transaction)?.map(|(tx_id, _)| tx_id);
    rules::expect_newest(replacements, found, newest)?;
    let packer = Packer::new(&transaction);
    for replacement in replacements {
        apply(&transaction, &packer, replacement)?;
    }
    for hash in banned {
        let sql = "INSERT INTO tombstone (hash) VALUES (:hash) ON CONFLICT DO NOTHING";
        transaction.run(sql, named_params! { ":hash": hash_value(hash) })?;
    }
    packer.finish()?;
    drop(packer);
    notes::add_replaced(&transaction, &Replaced::of(replacements, banned))?;
    let ids: BTreeSet<ObjectId> = replacements.iter().map(|one| one.id().clone()).collect();
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    reindex::<Terms>(&transaction, store_id, &ids)?;
    reindex::<Relations>(&transaction, store_id, &ids)?;
    Ok(transaction.commit()?)
}

fn apply(connection: &Connection, packer: &Packer<'_>, replacement: &Replacement) -> Step<()> {
    let id = replacement.id();
    let nothing = || rules::nothing_to_replace(id);
    let object = read::object(connection, id)?.ok_or_else(nothing)?;
    let changed = match replacement {
        Replacement::Version { .. } => version(connection, packer, object, replacement)?,
        Replacement::Item { position, from, item, .. } => {
            replace_item(connection, packer, (object, *position, *from), item)?
        }
        Replacement::Forgotten { .. } => {
            let object = named_params! { ":object": object };
            connection.run("DELETE FROM nickname WHERE object = :object", object)?;
            let sql = "UPDATE object SET forgotten = 1, source = NULL WHERE object = :object";
            connection.run(sql, object)?
        }
    };
    if changed == 0 {
        return Err(nothing().into());
    }
    Ok(())
}

fn version(
    connection: &Connection,
    packer: &Packer<'_>,
    object: i64,
    replacement: &Replacement,
) -> Step<usize> {
    let Replacement::Version { id, tx_id, fields, content, additional, redacted } = replacement
    else {
        return Ok(0);
    };
    for (hash, text) in content.iter().chain(additional.values()) {
        // A restored version must not bring back forgotten text.
        if redacted.is_none() && write::is_banned(connection, hash)? {
            return Err(Error::Forgotten { id: id.clone() }.into());
        }
        write::add_content(connection, packer, hash, text)?;
    }
    let sql = "UPDATE version SET fields = :fields, content = :content, additional = :additional,
               redacted = :redacted WHERE object = :object AND tx_id = :tx_id";
    connection.run(
        sql,
        named_params! {
            ":fields": rows::stored_fields(write::json(fields)?, packer)?,
            ":content": content.as_ref().map(|(hash, _)| hash_value(hash)),
            ":additional": write::additional(additional)?,
            ":redacted": redacted.as_ref().map(write::json).transpose()?,
            ":object": object,
            ":tx_id": tx_id.0,
        },
    )
}

fn replace_item(
    connection: &Connection,
    packer: &Packer<'_>,
    (object, position, from): (i64, u64, TxId),
    item: &Item,
) -> Step<usize> {
    // Store its running hash too, since it no longer follows from the text.
    let sql = "UPDATE item SET text = :text, redacted = :redacted, running_hash = :running_hash
               WHERE object = :object AND position = :position AND from_tx = :from_tx";
    connection.run(
        sql,
        named_params! {
            ":text": write::stored(packer, &item.text)?,
            ":redacted": item.redacted.as_ref().map(hash_value),
            ":running_hash": hash_value(&item.running_hash),
            ":object": object,
            ":position": write::position(position)?,
            ":from_tx": from.0,
        },
    )
}
