//! Drops unused data from the file, so that no byte of it remains, and measures the file. Runs only
//! on explicit commands. Sources: sqlite.org/lang_vacuum.html, pragma.html (`secure_delete`,
//! `wal_checkpoint`), dbstat.html.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, TransactionBehavior};

use zstd::zstd_safe;

use super::aside::with_suffix;
use super::erase::overwriting;
use super::failure::{self, Step};
use super::pack::{self, Pack, Packs};
use super::statements::Statements;
use super::{IN_MEMORY, rows, search_index};
use crate::{Garbage, StorePart, StoreSize};

/// Contents that no version refers to.
const UNUSED: &str = "hash NOT IN (SELECT content FROM version WHERE content IS NOT NULL)
     AND lower(hex(hash)) NOT IN
     (SELECT a.value FROM version AS v, json_each(v.additional) AS a WHERE v.additional IS NOT NULL)";

/// Attempts to truncate the log while somebody reads; each attempt itself waits about 0.2 s.
const LOG_TRIES: usize = 10;

/// Measures what [`collect`] would drop.
pub(super) fn garbage(connection: &Connection, path: &Path) -> Step<Garbage> {
    let mut garbage = unused_contents(connection)?;
    garbage.bytes_before = bytes_of(path) + bytes_of(&with_suffix(path, "-wal"));
    let given_back = free_bytes(connection)? + bytes_of(&with_suffix(path, "-wal"));
    garbage.bytes_after = garbage.bytes_before.saturating_sub(given_back);
    Ok(garbage)
}

/// Drops unused data, rewrites the file without free pages, and empties the log.
pub(super) fn collect(connection: &mut Connection, path: &Path) -> Step<Garbage> {
    let mut garbage = garbage(connection, path)?;
    overwriting(connection, |connection| {
        drop_unused(connection)?;
        search_index::merge(connection)
    })?;
    failure::while_busy(|| Ok(connection.execute_batch("VACUUM")?))?;
    garbage.waits_for_readers = !empty_log(connection)?;
    garbage.bytes_after = bytes_of(path) + bytes_of(&with_suffix(path, "-wal"));
    Ok(garbage)
}

/// Counts and measures.
pub(super) fn size(connection: &Connection, path: &Path) -> Step<StoreSize> {
    let count = |sql| connection.one(sql, [], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()));
    let mut size = StoreSize {
        forgotten: count("SELECT count(*) FROM object WHERE forgotten")?,
        versions: count("SELECT count(*) FROM version")?,
        items: count("SELECT count(*) FROM item")?,
        contents: count("SELECT count(*) FROM content")?,
        file_bytes: bytes_of(path),
        log_bytes: bytes_of(&with_suffix(path, "-wal")),
        free_bytes: free_bytes(connection)?,
        ..StoreSize::default()
    };
    let sql = "SELECT type, count(*) FROM object GROUP BY type";
    size.objects = connection
        .all(sql, [], |row| Ok((rows::kind(row, 0)?, row.get::<_, i64>(1)?.unsigned_abs())))?
        .into_iter()
        .collect();
    for sql in [
        "SELECT text FROM content",
        "SELECT text FROM item",
        "SELECT texts FROM pack",
        "SELECT fields FROM version WHERE fields LIKE '{%'",
    ] {
        connection.each(sql, [], |row| {
            size.plain_bytes += plain_bytes(row.get_ref(0)?);
            Ok(true)
        })?;
    }
    if path == Path::new(IN_MEMORY) {
        return Ok(StoreSize { free_bytes: 0, ..size });
    }
    let sql = "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE ORDER BY pgsize DESC, name";
    size.parts = connection.all(sql, [], |row| {
        let bytes = row.get::<_, i64>(1)?.unsigned_abs();
        Ok(StorePart { name: row.get(0)?, bytes })
    })?;
    Ok(size)
}

/// Bytes of a stored text before compression; a text in a pack counts with its pack.
fn plain_bytes(kept: ValueRef<'_>) -> u64 {
    match kept {
        ValueRef::Text(text) => text.len() as u64,
        ValueRef::Blob(frame) => {
            zstd_safe::get_frame_content_size(frame).ok().flatten().unwrap_or(0)
        }
        _ => 0,
    }
}

fn unused_contents(connection: &Connection) -> Step<Garbage> {
    let packs = Packs::new(connection);
    let mut garbage = Garbage::default();
    connection.each(&format!("SELECT text FROM content WHERE {UNUSED}"), [], |row| {
        garbage.contents += 1;
        garbage.content_bytes += rows::text(row, 0, &packs)?.len() as u64;
        Ok(true)
    })?;
    Ok(garbage)
}

fn drop_unused(connection: &mut Connection) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.run(&format!("DELETE FROM content WHERE {UNUSED}"), [])?;
    let used = used_places(&transaction)?;
    for row in transaction.all("SELECT pack FROM pack", [], |row| Ok(row.get::<_, i64>(0)?))? {
        let sql = "SELECT texts FROM pack WHERE pack = ?1";
        let frame: Vec<u8> = transaction.one(sql, [row], |found| Ok(found.get(0)?))?;
        let pack = Pack::decode(&frame)?;
        let is_used = |place: &pack::Place| used.contains(&place.number());
        if !pack.places(row).any(|place| is_used(&place)) {
            transaction.run("DELETE FROM pack WHERE pack = ?1", [row])?;
        } else if pack.places(row).any(|place| !is_used(&place) && pack.get(place) != Some("")) {
            pack::save(&transaction, row, pack.keep(row, |place| is_used(&place)))?;
        }
    }
    Ok(transaction.commit()?)
}

/// The places in packs that rows refer to.
fn used_places(connection: &Connection) -> Step<HashSet<i64>> {
    let mut used = HashSet::new();
    for sql in [
        "SELECT text FROM item WHERE typeof(text) = 'integer'",
        "SELECT text FROM content WHERE typeof(text) = 'integer'",
        "SELECT CAST(fields AS INTEGER) FROM version WHERE fields NOT LIKE '{%'",
    ] {
        connection.each(sql, [], |row| {
            used.insert(row.get(0)?);
            Ok(true)
        })?;
    }
    Ok(used)
}

/// Moves the log into the file and truncates it. `false` if somebody reads an older state.
fn empty_log(connection: &Connection) -> Step<bool> {
    for _ in 0..LOG_TRIES {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        if connection.one(sql, [], |row| Ok(row.get::<_, i64>(0)?))? == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn free_bytes(connection: &Connection) -> Step<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok((pragma("freelist_count")? * pragma("page_size")?).unsigned_abs())
}

/// Size of a file; 0 if it does not exist.
fn bytes_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
