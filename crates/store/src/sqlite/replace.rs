//! Replaces versions and items with copies that lack the removed text. Runs only on a person's
//! command.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, named_params};

use super::derived::{Entry, ItemPlace, renew_versions};
use super::failure::Step;
use super::pack::Packer;
use super::relation_index::Relations;
use super::rows::{self, hash_value};
use super::search_index::Terms;
use super::statements::Statements;
use super::turns::Turn;
use super::{notes, write};
use crate::{Change, Item, Replaced, Replacement, rules};
use base::error::Error;
use base::object::{Hash, ObjectId, ObjectType, Redaction, RedactionReason, TxId};

/// Replaces as many as fit into a turn, at least one, and updates the derived indexes; returns how
/// many. The old data is overwritten in the file's pages, but not yet in packs and in the log.
pub(super) fn replace(
    transaction: &Connection,
    turn: &Turn,
    store_id: &str,
    replacements: &[Replacement],
    banned: &[Hash],
) -> Step<usize> {
    for hash in banned {
        let sql = "INSERT INTO tombstone (hash) VALUES (:hash) ON CONFLICT DO NOTHING";
        transaction.run(sql, named_params! { ":hash": hash_value(hash) })?;
    }
    let packer = Packer::new(transaction);
    let (mut changed, mut forgotten) = (BTreeMap::new(), BTreeSet::new());
    let mut done = 0;
    for Replacement { id, change } in replacements {
        let object = apply(transaction, &packer, id, change)?;
        notes::set_note(transaction, &notes::summary_of(id), None)?;
        if object.is_forgotten {
            // At once, so that it counts towards the turn.
            let is_new = forgotten.insert(id.clone());
            if is_new || *change == Change::Nameless {
                renew(transaction, store_id, &object)?;
            }
        } else if !matches!(change, Change::Item { .. }) {
            changed.insert(object.row, object);
        }
        done += 1;
        if turn.is_over() {
            break;
        }
    }
    packer.finish()?;
    drop(packer);
    for object in changed.values() {
        renew(transaction, store_id, object)?;
    }
    notes::add_replaced(transaction, &Replaced::of(&replacements[..done], forgotten, banned))?;
    Ok(done)
}

/// Brings both indexes up to date with the versions of an object.
fn renew(transaction: &Connection, store_id: &str, object: &Object) -> Step<()> {
    renew_versions::<Terms>(transaction, store_id, object.row, object.is_forgotten)?;
    renew_versions::<Relations>(transaction, store_id, object.row, object.is_forgotten)
}

/// The object of a replacement.
struct Object {
    row: i64,
    kind: ObjectType,
    is_forgotten: bool,
}

fn apply(
    connection: &Connection,
    packer: &Packer<'_>,
    id: &ObjectId,
    change: &Change,
) -> Step<Object> {
    let sql = "SELECT object, type, forgotten FROM object WHERE id = ?1";
    let found = connection.first(sql, [id.as_str()], |row| {
        Ok(Object { row: row.get(0)?, kind: rows::kind(row, 1)?, is_forgotten: row.get(2)? })
    })?;
    let mut object = found.ok_or_else(|| rules::nothing_to_replace(id))?;
    object.is_forgotten |= *change == Change::Forgotten;
    let changed = match change {
        Change::Version { tx_id, fields, content, additional, redacted } => {
            // A restored version must not bring back forgotten text.
            let forgotten = || Error::Forgotten { id: id.clone() };
            let returns = redacted.is_none();
            if returns && (object.is_forgotten || was_forgotten(connection, &object, *tx_id)?) {
                return Err(forgotten().into());
            }
            for (hash, text) in content.iter().chain(additional.values()) {
                if returns {
                    if write::is_banned(connection, hash)? {
                        return Err(forgotten().into());
                    }
                    // What is there may be damaged.
                    connection.run("DELETE FROM content WHERE hash = ?1", [hash_value(hash)])?;
                }
                write::add_content(connection, packer, hash, text)?;
            }
            let sql = "UPDATE version SET fields = :fields, content = :content,
                       additional = :additional, redacted = :redacted
                       WHERE object = :object AND tx_id = :tx_id";
            let parameters = named_params! {
                ":fields": rows::stored_fields(write::json(fields)?, packer)?,
                ":content": content.as_ref().map(|(hash, _)| hash_value(hash)),
                ":additional": write::additional(additional)?,
                ":redacted": redacted.as_ref().map(write::json).transpose()?,
                ":object": object.row,
                ":tx_id": tx_id.0,
            };
            connection.run(sql, parameters)?
        }
        Change::Item { position, from, item } => {
            replace_item(connection, packer, &object, (*position, *from), item)?
        }
        Change::Forgotten => {
            connection.run("UPDATE object SET forgotten = 1 WHERE object = ?1", [object.row])?
        }
        Change::Nameless => {
            connection.run("DELETE FROM nickname WHERE object = ?1", [object.row])?;
            connection.run("UPDATE object SET source = NULL WHERE object = ?1", [object.row])?
        }
    };
    if changed == 0 {
        return Err(rules::nothing_to_replace(id).into());
    }
    Ok(object)
}

/// Whether a person chose to forget the text of a version.
fn was_forgotten(connection: &Connection, object: &Object, tx_id: TxId) -> Step<bool> {
    let sql = "SELECT redacted FROM version WHERE object = :object AND tx_id = :tx_id";
    let at = named_params! { ":object": object.row, ":tx_id": tx_id.0 };
    let redacted: Option<Option<Redaction>> =
        connection.first(sql, at, |row| rows::optional_json(row, 0))?;
    Ok(redacted.flatten().is_some_and(|it| it.reason == RedactionReason::Forgotten))
}

fn replace_item(
    connection: &Connection,
    packer: &Packer<'_>,
    object: &Object,
    (position, from): (u64, TxId),
    item: &Item,
) -> Step<usize> {
    // Store its running hash too, since it no longer follows from the text.
    let sql = "UPDATE item SET text = :text, redacted = :redacted, running_hash = :running_hash
               WHERE object = :object AND position = :position AND from_tx = :from_tx";
    let position = write::position(position)?;
    let parameters = named_params! {
        ":text": write::stored(packer, &item.text)?,
        ":redacted": item.redacted.as_ref().map(hash_value),
        ":running_hash": hash_value(&item.running_hash),
        ":object": object.row,
        ":position": position,
        ":from_tx": from.0,
    };
    let changed = connection.run(sql, parameters)?;
    let place = ItemPlace { object: object.row, kind: object.kind, position, from_tx: from.0 };
    Terms::renew_item(connection, &place, &item.text)?;
    Relations::renew_item(connection, &place, &item.text)?;
    Ok(changed)
}
