//! Queries.

use std::ops::Range;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, named_params};

use super::failure::{Failure, Step};
use super::pack::Packs;
use super::rows::{self, ItemRow, VERSION_COLUMNS, hash_value};
use crate::{Glance, Item, PlacedItem, Version};
use base::object::{
    AsOf, Hash, Nickname, ObjectId, ObjectType, Origin, RunningHash, Timestamp, TxId,
};

pub(super) fn get(
    connection: &Connection,
    store_id: &str,
    id: &ObjectId,
    at: AsOf,
) -> Step<Option<Version>> {
    let Point { condition, value } = Point::new(at);
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.id = :id AND v.tx_id <= {condition} ORDER BY v.tx_id DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(named_params! { ":id": id.as_str(), ":at": value })?;
    let packs = Packs::new(connection);
    found.next()?.map(|row| rows::version(row, store_id, &packs)).transpose()
}

pub(super) fn history(
    connection: &Connection,
    store_id: &str,
    id: &ObjectId,
) -> Step<Vec<Version>> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.id = :id ORDER BY v.tx_id DESC"
    );
    let packs = Packs::new(connection);
    let read = |row: &Row<'_>| rows::version(row, store_id, &packs);
    collect(connection, &sql, named_params! { ":id": id.as_str() }, read)
}

pub(super) fn find_version(
    connection: &Connection,
    store_id: &str,
    id: &ObjectId,
    content_hash: &Hash,
) -> Step<Option<Version>> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.id = :id AND v.content_hash = :hash ORDER BY v.tx_id DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let wanted = named_params! { ":id": id.as_str(), ":hash": hash_value(content_hash) };
    let mut found = statement.query(wanted)?;
    let packs = Packs::new(connection);
    found.next()?.map(|row| rows::version(row, store_id, &packs)).transpose()
}

pub(super) fn glance(connection: &Connection, id: &ObjectId) -> Step<Option<Glance>> {
    let sql = "SELECT v.tx_id, v.redacted FROM object AS o JOIN version AS v ON v.object = o.object
               WHERE o.id = :id ORDER BY v.tx_id DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(named_params! { ":id": id.as_str() })?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some(Glance { tx_id: TxId(row.get(0)?), redacted: rows::optional_json(row, 1)? }))
}

pub(super) fn content(connection: &Connection, hash: &Hash) -> Step<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT text FROM content WHERE hash = :hash")?;
    let mut found = statement.query(named_params! { ":hash": hash_value(hash) })?;
    found.next()?.map(|row| rows::text(row, 0, &Packs::new(connection))).transpose()
}

/// A number that changes after each commit of another connection, see
/// <https://sqlite.org/pragma.html#pragma_data_version>. Numbers of different connections are
/// unrelated.
pub(super) fn data_version(connection: &Connection) -> Step<u64> {
    let version: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
    Ok(u64::try_from(version).unwrap_or_default())
}

pub(super) fn items(
    connection: &Connection,
    id: &ObjectId,
    at: AsOf,
    range: Range<u64>,
) -> Step<Vec<Item>> {
    let Point { condition, value } = Point::new(at);
    let sql = format!(
        "SELECT {} FROM object AS o JOIN item AS i ON i.object = o.object
         WHERE o.id = :id AND i.position >= :start AND i.position < :end
         AND i.from_tx <= {condition} AND (i.until_tx IS NULL OR i.until_tx > {condition})
         ORDER BY i.position",
        ItemRow::COLUMNS
    );
    let packs = Packs::new(connection);
    let read = |row: &Row<'_>| ItemRow::read(row, &packs);
    let parameters = named_params! {
        ":id": id.as_str(), ":at": value, ":start": clip(range.start), ":end": clip(range.end),
    };
    let rows = collect(connection, &sql, parameters, read)?;
    let mut running = RunningHash::default().hash().clone();
    if let Some(first) = rows.first().filter(|first| first.running_hash.is_none()) {
        // Includes the items back to the nearest with its own running hash, as they were when this
        // one was written: they last as long as this one, and another writer may have ended all of
        // them meanwhile.
        let sql = format!(
            "SELECT {} FROM object AS o JOIN item AS i ON i.object = o.object
             WHERE o.id = :id AND i.position < :start
             AND i.from_tx <= :at AND (i.until_tx IS NULL OR i.until_tx > :at)
             ORDER BY i.position DESC",
            ItemRow::COLUMNS
        );
        let parameters = named_params! {
            ":id": id.as_str(), ":at": first.from.0, ":start": clip(first.position),
        };
        for before in until_hash(connection, &sql, parameters, read)?.into_iter().rev() {
            running = before.item(&running).running_hash;
        }
    }
    Ok(continued(rows, running))
}

pub(super) fn placed_items(
    connection: &Connection,
    id: &ObjectId,
    range: Range<u64>,
) -> Step<Vec<PlacedItem>> {
    let sql = format!(
        "SELECT {} FROM object AS o JOIN item AS i ON i.object = o.object
         WHERE o.id = :id AND i.position >= :start AND i.position < :end
         ORDER BY i.position, i.from_tx",
        ItemRow::COLUMNS
    );
    let parameters = named_params! {
        ":id": id.as_str(), ":start": clip(range.start), ":end": clip(range.end),
    };
    let packs = Packs::new(connection);
    let rows = collect(connection, &sql, parameters, |row| ItemRow::read(row, &packs))?;
    let mut placed: Vec<PlacedItem> = Vec::with_capacity(rows.len());
    for row in rows {
        let (position, from, until) = (row.position, row.from, row.until);
        let before =
            placed.iter().rev().take_while(|known| known.position + 1 >= position).find(|known| {
                let stands = known.until.is_none_or(|until| until > from);
                known.position + 1 == position && known.from <= from && stands
            });
        let item = match (&row.running_hash, before) {
            (None, None) if position > 0 => {
                let alone = items(connection, id, AsOf::Tx(from), position..position + 1)?;
                let missing = || Failure::damaged(format!("item {position} of `{id}` is gone"));
                alone.into_iter().next().ok_or_else(missing)?
            }
            (_, Some(before)) => row.item(&before.item.running_hash),
            (_, None) => row.item(RunningHash::default().hash()),
        };
        placed.push(PlacedItem { position, from, until, item });
    }
    Ok(placed)
}

/// Items with their running hashes; `running` is the hash of the item before them.
fn continued(rows: Vec<ItemRow>, mut running: Hash) -> Vec<Item> {
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let item = row.item(&running);
        running = item.running_hash.clone();
        items.push(item);
    }
    items
}

/// Rows up to the first one with its own running hash.
fn until_hash(
    connection: &Connection,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    read: impl Fn(&Row<'_>) -> Step<ItemRow>,
) -> Step<Vec<ItemRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(parameters)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let row = read(row)?;
        let ends = row.running_hash.is_some();
        rows.push(row);
        if ends {
            break;
        }
    }
    Ok(rows)
}

pub(super) fn changes(
    connection: &Connection,
    store_id: &str,
    after: TxId,
    limit: usize,
) -> Step<Vec<Version>> {
    // Up to the transaction that reaches the limit, or to the last.
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM version AS v
         JOIN object AS o ON o.object = v.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.tx_id > :after AND v.tx_id <= coalesce((SELECT tx_id FROM version
         WHERE tx_id > :after ORDER BY tx_id LIMIT 1 OFFSET :rest), :end)
         ORDER BY v.tx_id, v.version"
    );
    let rest = clip(limit.saturating_sub(1) as u64);
    let parameters = named_params! { ":after": after.0, ":rest": rest, ":end": i64::MAX };
    let packs = Packs::new(connection);
    collect(connection, &sql, parameters, |row| rows::version(row, store_id, &packs))
}

/// Number of transactions after a given one that wrote a version here first, and the time of the
/// oldest.
pub(super) fn written_after(
    connection: &Connection,
    after: TxId,
    kind: Option<ObjectType>,
) -> Step<(u64, Option<Timestamp>)> {
    let mut statement = connection.prepare_cached(
        "SELECT count(DISTINCT v.tx_id), min(t.system_time) FROM version AS v
         JOIN object AS o ON o.object = v.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.tx_id > :after AND v.origin_store IS NULL AND (:type IS NULL OR o.type = :type)",
    )?;
    let parameters = named_params! { ":after": after.0, ":type": kind.map(ObjectType::as_str) };
    Ok(statement.query_row(parameters, |row| {
        let count: i64 = row.get(0)?;
        Ok((count.unsigned_abs(), row.get::<_, Option<i64>>(1)?.map(Timestamp)))
    })?)
}

pub(super) fn find_origin(
    connection: &Connection,
    store_id: &str,
    id: &ObjectId,
    origin: &Origin,
) -> Step<Vec<Version>> {
    // Two lookups in indexes: those that were written here name no origin. For the order, SQLite
    // would rather walk all versions of the object.
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM version AS v INDEXED BY version_origin JOIN object AS o ON o.object = v.object
         JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.object = (SELECT object FROM object WHERE id = :id)
         AND v.origin_store IS NOT NULL AND v.origin_store = :store AND v.origin_tx = :tx
         UNION ALL SELECT {VERSION_COLUMNS} FROM version AS v JOIN object AS o ON o.object = v.object
         JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.object = (SELECT object FROM object WHERE id = :id)
         AND v.origin_store IS NULL AND :store = :own AND v.tx_id = :tx
         ORDER BY 5 DESC"
    );
    let parameters = named_params! {
        ":id": id.as_str(), ":store": origin.store_id, ":tx": origin.tx_id.0, ":own": store_id,
    };
    let packs = Packs::new(connection);
    collect(connection, &sql, parameters, |row| rows::version(row, store_id, &packs))
}

pub(super) fn list(
    connection: &Connection,
    store_id: &str,
    kind: ObjectType,
    after: Option<&ObjectId>,
    limit: usize,
) -> Step<Vec<Version>> {
    // Every ID is at least the empty one, so a first page needs no statement of its own.
    let comparison = if after.is_some() { ">" } else { ">=" };
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object
         AND v.tx_id = (SELECT max(tx_id) FROM version WHERE object = o.object)
         JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.type = :type {} AND o.id {comparison} :after ORDER BY o.id LIMIT :limit",
        indexed(kind)
    );
    let parameters = named_params! {
        ":type": kind.as_str(),
        ":after": after.map_or("", ObjectId::as_str),
        ":limit": clip(limit as u64),
    };
    let packs = Packs::new(connection);
    collect(connection, &sql, parameters, |row| rows::version(row, store_id, &packs))
}

pub(super) fn list_before_latest(
    connection: &Connection,
    store_id: &str,
    kind: ObjectType,
) -> Step<Vec<Version>> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object
         AND v.tx_id = (SELECT tx_id FROM version WHERE object = o.object
                        ORDER BY tx_id DESC LIMIT 1 OFFSET 1)
         JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.type = :type {} ORDER BY o.id",
        indexed(kind)
    );
    let packs = Packs::new(connection);
    let read = |row: &Row<'_>| rows::version(row, store_id, &packs);
    collect(connection, &sql, named_params! { ":type": kind.as_str() }, read)
}

/// Lets SQLite see that it may use the index of types, which has no toolcalls.
fn indexed(kind: ObjectType) -> &'static str {
    if kind == ObjectType::Toolcall { "" } else { "AND o.type <> 'toolcall'" }
}

pub(super) fn find_prefix(
    connection: &Connection,
    prefix: &str,
    limit: usize,
) -> Step<Vec<ObjectId>> {
    let end = end_of_prefix(prefix);
    let upper = if end.is_some() { "AND id < :end" } else { "AND :end IS NULL" };
    let sql = format!("SELECT id FROM object WHERE id >= :start {upper} ORDER BY id LIMIT :limit");
    let parameters = named_params! { ":start": prefix, ":end": end, ":limit": clip(limit as u64) };
    collect(connection, &sql, parameters, |row| Ok(ObjectId::new(row.get::<_, String>(0)?)))
}

pub(super) fn find_nickname(
    connection: &Connection,
    nickname: &Nickname,
) -> Step<Option<ObjectId>> {
    let sql = "SELECT o.id FROM nickname AS n JOIN object AS o ON o.object = n.object
               WHERE n.nickname = :nickname";
    let mut statement = connection.prepare_cached(sql)?;
    let parameters = named_params! { ":nickname": nickname.as_str() };
    let id = statement.query_row(parameters, |row| row.get::<_, String>(0)).optional()?;
    Ok(id.map(ObjectId::new))
}

pub(super) fn nicknames(connection: &Connection, id: &ObjectId) -> Step<Vec<Nickname>> {
    let sql = "SELECT n.nickname FROM object AS o JOIN nickname AS n ON n.object = o.object
               WHERE o.id = :id ORDER BY n.nickname";
    let read = |row: &Row<'_>| Ok(Nickname::parse(&row.get::<_, String>(0)?)?);
    collect(connection, sql, named_params! { ":id": id.as_str() }, read)
}

pub(super) fn content_hashes(
    connection: &Connection,
    after: Option<&Hash>,
    limit: usize,
) -> Step<Vec<Hash>> {
    let sql = "SELECT hash FROM content WHERE hash > :after ORDER BY hash LIMIT :limit";
    let after = after.map_or(Value::Blob(Vec::new()), hash_value);
    let parameters = named_params! { ":after": after, ":limit": clip(limit as u64) };
    collect(connection, sql, parameters, |row| rows::hash(row, 0))
}

/// A point in the store's history as an expression for the last transaction visible there, with the
/// value of `:at`.
pub(super) struct Point {
    pub(super) condition: &'static str,
    pub(super) value: i64,
}

impl Point {
    pub(super) fn new(at: AsOf) -> Self {
        const BY_TIME: &str = "coalesce((SELECT tx_id FROM tx WHERE system_time <= :at
             ORDER BY system_time DESC, tx_id DESC LIMIT 1), 0)";
        match at {
            AsOf::Latest => Self { condition: ":at", value: i64::MAX },
            AsOf::Tx(tx_id) => Self { condition: ":at", value: tx_id.0 },
            AsOf::Time(time) => Self { condition: BY_TIME, value: time.0 },
        }
    }
}

pub(super) fn collect<T>(
    connection: &Connection,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    read: impl Fn(&Row<'_>) -> Result<T, Failure>,
) -> Step<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(parameters)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// The least text greater than everything that starts with `prefix`, by UTF-8 bytes; `None` if
/// there is none.
pub(super) fn end_of_prefix(prefix: &str) -> Option<String> {
    let kept = prefix.trim_end_matches(char::MAX);
    let last = kept.chars().next_back()?;
    let next = (last..=char::MAX).nth(1)?;
    Some(format!("{}{next}", &kept[..kept.len() - last.len_utf8()]))
}

/// SQLite's integers end at 2^63 - 1; no list is that long.
pub(super) fn clip(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_prefix_is_the_next_text_of_its_length() {
        assert_eq!(end_of_prefix("ab").as_deref(), Some("ac"));
        assert_eq!(end_of_prefix("a\u{D7FF}").as_deref(), Some("a\u{E000}"));
        assert_eq!(end_of_prefix("a\u{10FFFF}\u{10FFFF}").as_deref(), Some("b"));
        assert_eq!(end_of_prefix("\u{10FFFF}"), None);
        assert_eq!(end_of_prefix(""), None);
    }
}
