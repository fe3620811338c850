//! Drops unused data from the file, so that no byte of it remains, and measures the file. Runs only
//! on explicit commands, in turns with other writers. Sources: sqlite.org/pragma.html
//! (`secure_delete`, `incremental_vacuum`, `wal_checkpoint`), lang_vacuum.html, dbstat.html.

use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, named_params};

use zstd::zstd_safe;

use super::failure::{self, Step};
use super::pack::{self, Pack, PackedText, Packs};
use super::statements::Statements;
use super::{IN_MEMORY, SqliteBackend, lock, notes, rows, search_index};
use crate::{Garbage, Growth, StorePart, StoreSize};
use base::error::Result;
use base::object::Timestamp;
use files::with_end;

/// Contents that no version refers to.
const UNUSED: &str = "hash NOT IN (SELECT content FROM version WHERE content IS NOT NULL)
     AND lower(hex(hash)) NOT IN
     (SELECT a.value FROM version AS v, json_each(v.additional) AS a WHERE v.additional IS NOT NULL)";

/// Milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// What counts as having come lately, and as not used any more.
const RECENT_DAYS: i64 = 30;
const UNUSED_DAYS: i64 = 180;

/// Attempts to truncate the log while somebody reads, and the rest after each.
const LOG_TRIES: usize = 10;
pub(super) const LOG_REST: Duration = Duration::from_millis(20);

/// Free pages that go back to the file system in one turn.
const PAGES_GIVEN_BACK: u64 = 128;

/// Turns beyond twice those that the pages take, while others free some too.
const MORE_TURNS: u64 = 100;

/// Packs looked at in one read.
const PACKS: i64 = 200;

/// Instructions of SQLite between two looks whether somebody else opened the store.
const INSTRUCTIONS: i32 = 100_000;

/// Measures what [`collect`] would drop.
pub(super) fn garbage(connection: &Connection, path: &Path) -> Step<Garbage> {
    let mut garbage = unused_contents(connection)?;
    garbage.bytes_before = all_bytes(path);
    let given_back = free_bytes(connection)? + log_bytes(path);
    garbage.bytes_after = garbage.bytes_before.saturating_sub(given_back);
    Ok(garbage)
}

/// Measures the search index, which takes reading all of it.
pub(super) fn search_bytes(connection: &Connection) -> Step<u64> {
    let sql = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE
               AND name IN ('search_index_data', 'search_row')";
    connection.one(sql, [], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
}

/// Drops unused data, gives free pages back, and empties the log.
pub(super) fn collect(store: &SqliteBackend, bytes_before: u64) -> Result<Garbage> {
    let mut garbage = store.read(|connection| garbage(connection, &store.path))?;
    garbage.bytes_before = bytes_before;
    while !drop_contents(store)? {}
    drop_texts(store)?;
    search_index::merge(store)?;
    garbage.waits_to_be_alone = !give_back(store)?;
    garbage.waits_for_readers = !empty_log(store)?;
    garbage.bytes_after = all_bytes(&store.path);
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
        log_bytes: log_bytes(path),
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

/// Says how large the store is, and what came lately, by what the indexes hold.
pub(super) fn growth(connection: &Connection, path: &Path, now: Timestamp) -> Step<Growth> {
    let ago = |days: i64| now.0.saturating_sub(days * DAY);
    let sql = "SELECT (SELECT count(*) FROM version),
               (SELECT count(*) FROM version WHERE tx_id >=
                (SELECT tx_id FROM tx WHERE system_time >= ?1 ORDER BY system_time LIMIT 1))";
    let (all, recent): (i64, i64) =
        connection.one(sql, [ago(RECENT_DAYS)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT count(*), coalesce(sum(last < ?1), 0) FROM (SELECT
               (SELECT coalesce(v.origin_time, t.system_time)
                FROM version AS v JOIN tx AS t USING (tx_id)
                WHERE v.object = o.object ORDER BY v.tx_id DESC LIMIT 1) AS last
               FROM object AS o WHERE o.type = 'session' AND o.type <> 'toolcall')";
    let (sessions, unused): (i64, i64) =
        connection.one(sql, [ago(UNUSED_DAYS)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let file_bytes = all_bytes(path);
    let share = u128::from(recent.unsigned_abs()) * u128::from(file_bytes);
    let recent_bytes = share / u128::from(all.unsigned_abs().max(1));
    Ok(Growth {
        file_bytes,
        recent_bytes: u64::try_from(recent_bytes).unwrap_or(file_bytes),
        sessions: sessions.unsigned_abs(),
        unused_sessions: unused.unsigned_abs(),
    })
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

/// Drops contents that no version refers to; `false` if somebody changed what older versions refer
/// to meanwhile.
fn drop_contents(store: &SqliteBackend) -> Result<bool> {
    let (removal, last, unused) = store.read(|connection| {
        let snapshot = connection.unchecked_transaction()?;
        let removal = notes::last_replaced(&snapshot)?;
        let last: i64 =
            snapshot
                .one("SELECT coalesce(max(version), 0) FROM version", [], |row| Ok(row.get(0)?))?;
        let sql = format!("SELECT hash FROM content WHERE {UNUSED}");
        let unused: Vec<Value> = snapshot.all(&sql, [], |row| Ok(row.get(0)?))?;
        Ok((removal, last, unused))
    })?;
    let mut is_good = true;
    // A version that was added since may refer to one of them.
    let sql = "DELETE FROM content WHERE hash = :hash AND NOT EXISTS
               (SELECT 1 FROM version WHERE version > :last AND content = :hash) AND NOT EXISTS
               (SELECT 1 FROM version AS v, json_each(v.additional) AS a
                WHERE v.version > :last AND a.value = lower(hex(:hash)))";
    store.in_turns(unused.len(), |transaction, mut next, turn| {
        is_good = notes::last_replaced(transaction)? == removal;
        while is_good && next < unused.len() && !turn.is_over() {
            transaction.run(sql, named_params! { ":hash": unused[next], ":last": last })?;
            next += 1;
        }
        Ok(if is_good { next } else { unused.len() })
    })?;
    Ok(is_good)
}

/// Drops the texts in packs that no row refers to. No row ever refers to them again: each text that
/// is written gets a new place.
fn drop_texts(store: &SqliteBackend) -> Result<()> {
    let used = Used::read(store)?;
    let mut after = i64::MIN;
    loop {
        let (last, unused) =
            store.read(|connection| packs_with_unused(connection, &used, after))?;
        store
            .each_in_turns(&unused, |transaction, pack| drop_of_pack(transaction, &used, *pack))?;
        match last {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

/// The places in packs that rows refer to.
struct Used {
    /// Bits of each pack's places.
    places: HashMap<i64, Vec<u64>>,
    /// The first place that was not given to a text yet: those from it on may be used by now.
    next: PackedText,
}

impl Used {
    fn read(store: &SqliteBackend) -> Result<Self> {
        let next = store.read(pack::next_place)?;
        let mut used = Self { places: HashMap::new(), next };
        for sql in [
            "SELECT text FROM item WHERE typeof(text) = 'integer'",
            "SELECT text FROM content WHERE typeof(text) = 'integer'",
            "SELECT CAST(fields AS INTEGER) FROM version WHERE fields NOT LIKE '{%'",
        ] {
            store.read(|connection| {
                connection.each(sql, [], |row| {
                    used.add(PackedText(row.get(0)?));
                    Ok(true)
                })
            })?;
        }
        Ok(used)
    }

    fn add(&mut self, place: PackedText) {
        let bits = self.places.entry(place.pack()).or_default();
        let (word, bit) = (place.slot() / 64, place.slot() % 64);
        bits.resize(bits.len().max(word + 1), 0);
        bits[word] |= 1 << bit;
    }

    fn holds(&self, place: PackedText) -> bool {
        let bits = self.places.get(&place.pack());
        let word = bits.and_then(|bits| bits.get(place.slot() / 64));
        place >= self.next || word.is_some_and(|word| word >> (place.slot() % 64) & 1 == 1)
    }
}

/// Which of the next packs hold texts that are not used; with the last pack looked at, `None` at
/// the end.
fn packs_with_unused(
    connection: &Connection,
    used: &Used,
    after: i64,
) -> Step<(Option<i64>, Vec<i64>)> {
    let sql = "SELECT pack, texts FROM pack WHERE pack > ?1 ORDER BY pack LIMIT ?2";
    let (mut last, mut unused) = (None, Vec::new());
    connection.each(sql, (after, PACKS), |row| {
        let number: i64 = row.get(0)?;
        let pack = Pack::decode(row.get_ref(1)?.as_blob().map_err(failure::Failure::damaged)?)?;
        last = Some(number);
        let goes = |place: &PackedText| !used.holds(*place) && pack.get(*place) != Some("");
        if pack.places(number).any(|place| goes(&place)) {
            unused.push(number);
        }
        Ok(true)
    })?;
    Ok((last, unused))
}

fn drop_of_pack(connection: &Connection, used: &Used, number: i64) -> Step<()> {
    let sql = "SELECT texts FROM pack WHERE pack = ?1";
    let frame: Option<Vec<u8>> = connection.first(sql, [number], |found| Ok(found.get(0)?))?;
    let Some(frame) = frame else { return Ok(()) };
    let pack = Pack::decode(&frame)?;
    if pack.places(number).any(|place| used.holds(place)) {
        return pack::save(connection, number, pack.keep(number, |place| used.holds(place)));
    }
    connection.run("DELETE FROM pack WHERE pack = ?1", [number])?;
    Ok(())
}

/// Gives free pages back to the file system. `false` where some stay, which may hold what was
/// dropped: the file of an earlier version has to be written anew, and somebody else uses it, or
/// others freed pages as fast as they went.
fn give_back(store: &SqliteBackend) -> Result<bool> {
    let pragma = |name| store.read(|connection| integer(connection, name));
    if store.path == Path::new(IN_MEMORY) || pragma("auto_vacuum")? != INCREMENTAL {
        return write_anew(store);
    }
    let sql = format!("PRAGMA incremental_vacuum({PAGES_GIVEN_BACK})");
    for _ in 0..MORE_TURNS + 2 * pragma("freelist_count")? / PAGES_GIVEN_BACK {
        if pragma("freelist_count")? == 0 {
            return Ok(true);
        }
        store.turn(|connection, _| connection.each(&sql, [], |_| Ok(true)))?;
    }
    Ok(false)
}

/// `PRAGMA auto_vacuum`.
const INCREMENTAL: u64 = 2;

/// Writes the file anew, unless somebody else has it open or opens it.
fn write_anew(store: &SqliteBackend) -> Result<bool> {
    let in_memory = store.path == Path::new(IN_MEMORY);
    let mark = lock(&store.mark).clone();
    if !in_memory && !mark.as_ref().is_some_and(|mark| mark.is_alone()) {
        return Ok(false);
    }
    store.write_once(|connection| {
        let interrupted = move || mark.as_ref().is_some_and(|mark| !mark.is_alone());
        connection.progress_handler(INSTRUCTIONS, (!in_memory).then_some(interrupted))?;
        let written = failure::while_busy(|| Ok(connection.execute_batch("VACUUM")?));
        connection.progress_handler(0, None::<fn() -> bool>)?;
        match written {
            Err(failure) if failure.code() == Some(ErrorCode::OperationInterrupted) => Ok(false),
            written => written.map(|()| true),
        }
    })
}

/// Moves the log into the file and truncates it. `false` if somebody reads an older state.
fn empty_log(store: &SqliteBackend) -> Result<bool> {
    // The first moves most of it without keeping writers waiting.
    move_log(store, "PASSIVE")?;
    for _ in 0..LOG_TRIES {
        if move_log(store, "TRUNCATE")? {
            return Ok(true);
        }
        thread::sleep(LOG_REST);
    }
    Ok(false)
}

/// Moves the log into the file, by one of the ways of sqlite.org/pragma.html#pragma_wal_checkpoint;
/// `false` if somebody is in the way of some of it.
pub(super) fn move_log(store: &SqliteBackend, how: &str) -> Result<bool> {
    let sql = format!("PRAGMA wal_checkpoint({how})");
    let (is_busy, log, moved): (bool, i64, i64) = store.write_once(|connection| {
        connection.one(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    })?;
    Ok(!is_busy && log == moved)
}

fn free_bytes(connection: &Connection) -> Step<u64> {
    Ok(integer(connection, "freelist_count")? * integer(connection, "page_size")?)
}

fn integer(connection: &Connection, pragma: &str) -> Step<u64> {
    let value = connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))?;
    Ok(value.unsigned_abs())
}

/// Size of a store's file and its log.
pub(super) fn all_bytes(path: &Path) -> u64 {
    bytes_of(path) + log_bytes(path)
}

/// Size of the log beside a store's file; 0 if there is none.
pub(super) fn log_bytes(path: &Path) -> u64 {
    bytes_of(&with_end(path, "-wal"))
}

/// Size of a file; 0 if it does not exist.
fn bytes_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}
