//! Reads versions, items and contents. Their conditions are those of the contract, in `backend`.

use std::ops::Range;

use rusqlite::{Connection, Params, ToSql, named_params};

use super::failure::{Failure, Step};
use super::pack::Packs;
use super::rows::{self, ItemRow, VERSION_COLUMNS, hash_value};
use super::statements::Statements;
use crate::{Item, PlacedItem, Version};
use base::object::{AsOf, Hash, Nickname, ObjectId, ObjectType, RunningHash};

/// The tables of versions, as [`rows::version`] reads them.
pub(super) const VERSIONS: &str = "FROM object AS o JOIN version AS v ON v.object = o.object \
     JOIN tx AS t ON t.tx_id = v.tx_id";

/// Versions of [`VERSIONS`]; `rest`: the statement from its conditions on.
pub(super) fn versions(
    connection: &Connection,
    store_id: &str,
    rest: &str,
    parameters: impl Params,
) -> Step<Vec<Version>> {
    let packs = Packs::new(connection);
    let sql = format!("SELECT {VERSION_COLUMNS} {VERSIONS} {rest}");
    connection.all(&sql, parameters, |row| rows::version(row, store_id, &packs))
}

pub(super) fn content(connection: &Connection, hash: &Hash) -> Step<Option<String>> {
    let sql = "SELECT text FROM content WHERE hash = :hash";
    let parameters = named_params! { ":hash": hash_value(hash) };
    connection.first(sql, parameters, |row| rows::text(row, 0, &Packs::new(connection)))
}

pub(super) fn items(
    connection: &Connection,
    id: &ObjectId,
    at: AsOf,
    range: Range<u64>,
) -> Step<Vec<Item>> {
    let Point { condition, value } = Point::new(at);
    let rest = format!(
        "AND i.position >= :start AND i.position < :end
         AND i.from_tx <= {condition} AND (i.until_tx IS NULL OR i.until_tx > {condition})
         ORDER BY i.position"
    );
    let (start, end) = (clip(range.start), clip(range.end));
    let parameters =
        named_params! { ":id": id.as_str(), ":at": value, ":start": start, ":end": end };
    let rows = item_rows(connection, &rest, parameters, |_| false)?;
    let mut running = RunningHash::default().hash().clone();
    if let Some(first) = rows.first().filter(|first| first.running_hash.is_none()) {
        // Includes the items back to the nearest with its own running hash, as they were when this
        // one was written: they last as long as this one, and another writer may have ended all of
        // them meanwhile.
        let rest = "AND i.position < :start
             AND i.from_tx <= :at AND (i.until_tx IS NULL OR i.until_tx > :at)
             ORDER BY i.position DESC";
        let start = clip(first.position);
        let parameters = named_params! { ":id": id.as_str(), ":at": first.from.0, ":start": start };
        let before = item_rows(connection, rest, parameters, |row| row.running_hash.is_some())?;
        for row in before.into_iter().rev() {
            running = row.item(&running).running_hash;
        }
    }
    let continued = rows.into_iter().map(|row| {
        let item = row.item(&running);
        running = item.running_hash.clone();
        item
    });
    Ok(continued.collect())
}

pub(super) fn placed_items(
    connection: &Connection,
    id: &ObjectId,
    range: Range<u64>,
) -> Step<Vec<PlacedItem>> {
    let rest = "AND i.position >= :start AND i.position < :end ORDER BY i.position, i.from_tx";
    let (start, end) = (clip(range.start), clip(range.end));
    let parameters = named_params! { ":id": id.as_str(), ":start": start, ":end": end };
    let rows = item_rows(connection, rest, parameters, |_| false)?;
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

/// Rows of an object's items, up to the first that ends them.
fn item_rows(
    connection: &Connection,
    rest: &str,
    parameters: &[(&str, &dyn ToSql)],
    ends: impl Fn(&ItemRow) -> bool,
) -> Step<Vec<ItemRow>> {
    let packs = Packs::new(connection);
    let sql = format!(
        "SELECT {} FROM object AS o JOIN item AS i ON i.object = o.object WHERE o.id = :id {rest}",
        ItemRow::COLUMNS
    );
    let mut rows = Vec::new();
    connection.each(&sql, parameters, |row| {
        rows.push(ItemRow::read(row, &packs)?);
        Ok(!rows.last().is_some_and(&ends))
    })?;
    Ok(rows)
}

pub(super) fn find_nickname(
    connection: &Connection,
    nickname: &Nickname,
) -> Step<Option<ObjectId>> {
    let sql = "SELECT o.id FROM nickname AS n JOIN object AS o ON o.object = n.object
               WHERE n.nickname = :nickname";
    let parameters = named_params! { ":nickname": nickname.as_str() };
    connection.first(sql, parameters, |row| Ok(ObjectId::new(row.get::<_, String>(0)?)))
}

/// Lets SQLite see that it may use the index of types, which has no toolcalls.
pub(super) fn indexed(kind: ObjectType) -> &'static str {
    if kind == ObjectType::Toolcall { "" } else { "AND o.type <> 'toolcall'" }
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
