//! Writes the search index: the terms of each version. Must not search, see `search`; `derived`
//! fills and renews the index.

use std::collections::BTreeMap;

use rusqlite::{Connection, ToSql, named_params};

use super::SqliteBackend;
use super::derived::{self, Entry, ItemPlace, renew_versions};
use super::failure::Step;
use super::notes;
use super::statements::Statements;
use crate::search::{Columns, Searched, session_of};
use crate::{SearchedOutputs, Version};
use base::error::Result;
use base::object::ObjectType;

/// `search_row.part` of a version.
pub(super) const VERSION: i64 = -2;

/// `search_row.part` of a nickname.
pub(super) const NICKNAME: i64 = -1;

/// Most pages that one turn of a merge writes.
const MERGE_PAGES: i64 = 64;

/// The terms of a version.
pub(super) struct Terms {
    object: i64,
    tx_id: i64,
    session: Option<String>,
    columns: Option<Columns>,
    /// Terms of the items that the version added, with their positions.
    items: Vec<(i64, Columns)>,
    /// Number of items that the version kept; `None` for a document without items.
    keep: Option<i64>,
}

impl Entry for Terms {
    const PROGRESS: &str = "search_progress";

    /// Bytes of terms.
    const BATCH_WEIGHT: usize = 1 << 20;

    fn derive(connection: &Connection, object: i64, version: &Version) -> Step<Self> {
        let mut contents = Vec::new();
        let named = version.content.iter().map(|hash| ("content", hash));
        let additional = version.additional.iter().map(|(name, hash)| (name.as_str(), hash));
        let is_searched = version.envelope.kind != ObjectType::Toolcall
            || notes::searched_outputs(connection)? != SearchedOutputs::None;
        for (name, hash) in named.chain(additional).filter(|_| is_searched) {
            if let Some(text) = derived::readable(connection, hash)? {
                contents.push((name.to_owned(), text));
            }
        }
        let searched = Searched::version(&version.envelope, &version.fields, contents);
        let (keep, added) = derived::added_items(connection, object, version)?;
        let mut items = Vec::new();
        for (position, text) in added {
            let columns = Searched::item(version.envelope.kind, &text).columns();
            items.extend(columns.map(|columns| (position, columns)));
        }
        Ok(Self {
            object,
            tx_id: version.tx_id.0,
            session: session_of(&version.envelope, &version.fields).map(str::to_owned),
            columns: searched.columns(),
            items,
            keep,
        })
    }

    fn weight(&self) -> usize {
        let columns = self.columns.iter().chain(self.items.iter().map(|(_, columns)| columns));
        columns.flat_map(|columns| &columns.0).map(String::len).sum()
    }

    fn add(&self, transaction: &Connection) -> Step<()> {
        let Terms { object, tx_id, session, columns, items, keep } = self;
        let keep = keep.unwrap_or(i64::MAX);
        let sql = "UPDATE search_row INDEXED BY search_row_latest SET latest = 0
                   WHERE object = :object AND (part = -2 OR part >= :keep) AND latest = 1";
        transaction.run(sql, named_params! { ":object": object, ":keep": keep })?;
        let session = session.as_deref().map(|key| session_row(transaction, key)).transpose()?;
        if let Some(columns) = columns {
            let digest = columns.digest();
            let sql = "UPDATE search_row SET latest = 1, tx_id = :tx_id
                       WHERE object = :object AND part = -2 AND digest = :digest";
            let row = named_params! { ":object": object, ":tx_id": tx_id, ":digest": digest };
            if transaction.run(sql, row)? == 0 {
                add(transaction, *object, *tx_id, VERSION, session, Some(digest), columns)?;
            }
        }
        for (position, columns) in items {
            add(transaction, *object, *tx_id, *position, session, None, columns)?;
        }
        Ok(())
    }

    fn remove_versions(transaction: &Connection, object: i64) -> Step<()> {
        let sql = "SELECT row FROM search_row WHERE object = :object AND part = -2";
        remove_rows(transaction, sql, named_params! { ":object": object }).map(drop)
    }

    /// Gives the row of the item other terms, in a row of its own: the index may still hold the old
    /// ones under the former number.
    fn renew_item(transaction: &Connection, place: &ItemPlace, text: &str) -> Step<()> {
        let ItemPlace { object, kind, position, from_tx } = *place;
        let sql = "SELECT row FROM search_row
                   WHERE object = :object AND part = :part AND tx_id = :from_tx";
        let at = named_params! { ":object": object, ":part": position, ":from_tx": from_tx };
        let known: Option<i64> = transaction.first(sql, at, |row| Ok(row.get(0)?))?;
        let Some(known) = known else { return Ok(()) };
        if let Some(columns) = Searched::item(kind, text).columns() {
            let sql = "INSERT INTO search_row (object, tx_id, part, latest, session, digest)
                       SELECT object, tx_id, part, latest, session, digest
                       FROM search_row WHERE row = ?1";
            transaction.run(sql, [known])?;
            add_terms(transaction, transaction.last_insert_rowid(), &columns)?;
            count(transaction, 1)?;
        }
        remove_rows(transaction, "SELECT :row", named_params! { ":row": known }).map(drop)
    }

    fn awaits_more(connection: &Connection) -> Step<bool> {
        let sql = "SELECT named_tx < (SELECT coalesce(max(tx_id), 0) FROM tx) FROM search_progress";
        connection.one(sql, [], |row| Ok(row.get(0)?))
    }

    /// Nicknames.
    fn add_more(transaction: &Connection, object: Option<i64>) -> Step<()> {
        update_nicknames(transaction, object)?;
        if object.is_none() {
            let sql =
                "UPDATE search_progress SET named_tx = (SELECT coalesce(max(tx_id), 0) FROM tx)";
            transaction.run(sql, [])?;
        }
        Ok(())
    }
}

/// Outputs looked at in one read.
const OUTPUTS: i64 = 500;

impl SqliteBackend {
    /// Which outputs of tool calls the index holds.
    pub fn searched_outputs(&self) -> Result<SearchedOutputs> {
        self.read(notes::searched_outputs)
    }

    /// Puts the outputs of all tool calls into the index, or takes them out, in turns with other
    /// writers, and so from now on. Broken off, doing it again completes it.
    pub fn search_outputs(&self, searched: bool) -> Result<()> {
        let note =
            |which| self.change(|transaction| notes::set_searched_outputs(transaction, which));
        note(if searched { SearchedOutputs::Some } else { SearchedOutputs::None })?;
        let_merge(self, false)?;
        let mut after = 0;
        loop {
            let sql = "SELECT object, forgotten FROM object WHERE type = 'toolcall'
                       AND object > ?1 ORDER BY object LIMIT ?2";
            let calls: Vec<(i64, bool)> = self.read(|connection| {
                connection.all(sql, [after, OUTPUTS], |row| Ok((row.get(0)?, row.get(1)?)))
            })?;
            let Some((last, _)) = calls.last() else { break };
            after = *last;
            self.each_in_turns(&calls, |transaction, (object, forgotten)| {
                renew_versions::<Terms>(transaction, &self.store_id, *object, *forgotten)
            })?;
        }
        if searched { note(SearchedOutputs::All) } else { Ok(()) }
    }
}

/// FTS5's defaults for merging segments by itself: from so many of one level on, and from such a
/// share of removed rows on, in percent. <https://sqlite.org/fts5.html#the_automerge_configuration_option>
const MERGES: [(&str, i64); 2] = [("automerge", 4), ("deletemerge", 10)];

/// Lets the index merge by itself, as it does at first, or not. While much is removed or merged, it
/// may merge for half a second at whatever a session writes, so [`merge`] does all of it, in turns.
pub(super) fn let_merge(store: &SqliteBackend, lets: bool) -> Result<()> {
    store.change(|connection| {
        for (option, usual) in MERGES {
            let value = if lets { usual } else { 0 };
            let sql = "SELECT v FROM search_index_config WHERE k = ?1";
            let known: Option<i64> = connection.first(sql, [option], |row| Ok(row.get(0)?))?;
            if known.unwrap_or(usual) != value {
                let sql = "INSERT INTO search_index (search_index, rank) VALUES (?1, ?2)";
                connection.run(sql, (option, value))?;
            }
        }
        Ok(())
    })
}

/// Merges the whole index into one segment, which drops the terms of removed rows. Where most were
/// removed, a page that is written takes reading many: a turn writes fewer once one was over.
pub(super) fn merge(store: &SqliteBackend) -> Result<()> {
    let_merge(store, false)?;
    let mut pages = -1_i64;
    loop {
        let (changes, is_over) = store.turn(|connection, turn| {
            let before = connection.total_changes();
            let sql = "INSERT INTO search_index (search_index, rank) VALUES ('merge', ?1)";
            connection.run(sql, [pages])?;
            Ok((connection.total_changes() - before, turn.is_over()))
        })?;
        // FTS5: the merge is complete once a step changes fewer than two rows.
        if changes < 2 {
            return let_merge(store, true);
        }
        let written = pages.abs();
        pages = if is_over { written / 2 } else { written * 2 }.clamp(1, MERGE_PAGES);
    }
}

/// Number of rows.
pub(super) fn rows(connection: &Connection) -> Step<u64> {
    let sql = "SELECT rows FROM search_progress";
    connection.one(sql, [], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
}

/// Removes some of an object's rows, at most `limit`; returns how many.
pub(super) fn remove_some(transaction: &Connection, object: i64, limit: i64) -> Step<usize> {
    let some = "SELECT row FROM search_row WHERE object = :object ORDER BY part, row LIMIT :limit";
    remove_rows(transaction, some, named_params! { ":object": object, ":limit": limit })
}

/// Removes the rows whose numbers a query finds; returns how many.
fn remove_rows(
    transaction: &Connection,
    query: &str,
    parameters: &[(&str, &dyn ToSql)],
) -> Step<usize> {
    let sql = format!("DELETE FROM search_index WHERE rowid IN ({query})");
    transaction.run(&sql, parameters)?;
    let sql = format!("DELETE FROM search_row WHERE row IN ({query})");
    let removed = transaction.run(&sql, parameters)?;
    count(transaction, -i64::try_from(removed).unwrap_or(i64::MAX))?;
    Ok(removed)
}

fn add(
    transaction: &Connection,
    object: i64,
    tx_id: i64,
    part: i64,
    session: Option<i64>,
    digest: Option<i64>,
    columns: &Columns,
) -> Step<()> {
    let sql = "INSERT INTO search_row (object, tx_id, part, latest, session, digest)
               VALUES (:object, :tx_id, :part, 1, :session, :digest)";
    let parameters = named_params! {
        ":object": object, ":tx_id": tx_id, ":part": part, ":session": session,
        ":digest": digest,
    };
    transaction.run(sql, parameters)?;
    add_terms(transaction, transaction.last_insert_rowid(), columns)?;
    count(transaction, 1)
}

fn add_terms(transaction: &Connection, row: i64, columns: &Columns) -> Step<()> {
    let Columns([name, text, joined]) = columns;
    let sql = "INSERT INTO search_index (rowid, name, text, joined)
               VALUES (:row, :name, :text, :joined)";
    transaction
        .run(sql, named_params! { ":row": row, ":name": name, ":text": text, ":joined": joined })?;
    Ok(())
}

fn count(transaction: &Connection, change: i64) -> Step<()> {
    let sql = "UPDATE search_progress SET rows = rows + :change";
    transaction.run(sql, named_params! { ":change": change })?;
    Ok(())
}

fn session_row(transaction: &Connection, key: &str) -> Step<i64> {
    let sql = "INSERT OR IGNORE INTO search_session (key) VALUES (?1)";
    transaction.run(sql, [key])?;
    let sql = "SELECT session FROM search_session WHERE key = ?1";
    transaction.one(sql, [key], |row| Ok(row.get(0)?))
}

/// Brings the rows of nicknames up to date, for one object or all.
fn update_nicknames(transaction: &Connection, object: Option<i64>) -> Step<()> {
    let owner = named_params! { ":object": object };
    let sql = "SELECT nickname, object FROM nickname WHERE :object IS NULL OR object = :object";
    // Nicknames of one object that differ only in signs share a row.
    let mut wanted: BTreeMap<(i64, i64), Columns> = BTreeMap::new();
    transaction.each(sql, owner, |row| {
        if let Some(columns) = Searched::nickname(&row.get::<_, String>(0)?).columns() {
            wanted.insert((row.get(1)?, columns.digest()), columns);
        }
        Ok(true)
    })?;
    let sql = "SELECT object, digest FROM search_row
               WHERE part = -1 AND (:object IS NULL OR object = :object)";
    let known: Vec<(i64, i64)> =
        transaction.all(sql, owner, |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (object, digest) in known {
        if wanted.remove(&(object, digest)).is_none() {
            let sql = "SELECT row FROM search_row
                       WHERE object = :object AND part = -1 AND digest = :digest";
            let gone = named_params! { ":object": object, ":digest": digest };
            remove_rows(transaction, sql, gone)?;
        }
    }
    for ((object, digest), columns) in wanted {
        add(transaction, object, 0, NICKNAME, None, Some(digest), &columns)?;
    }
    Ok(())
}
