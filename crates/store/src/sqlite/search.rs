//! Searches the index. Must not change it.
//!
//! FTS5's `bm25()` of a single phrase is its own inverse frequency times a part that depends on the
//! row's counts and length; that part is extracted and weighed as `store::search` defines. It costs
//! 0.6 µs a row, counting rows 0.03 µs. So the rarest units are looked up first, with all their
//! rows; once 5,000 rows are ranked, a more common unit only adds to rows already found. If even
//! the rarest unit occurs in more rows than that, the newest 5,000 are ranked: a word that common
//! says little about any row.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, params_from_iter};

use super::failure::Step;
use super::search_index::{NICKNAME, Terms, VERSION};
use super::statements::Statements;
use super::{SqliteBackend, derived, read, rows, search_index};
use crate::search::{Phrase, Ranking, WEIGHTS, inverse_frequency};
use crate::{Expression, FoundIn, FoundRows, FoundText, SearchFilter};
use base::error::Result;
use base::object::{ObjectId, TxId};

/// Most rows that are ranked.
const MAX_RANKED: usize = 5_000;

/// A row of the index that holds terms. Rows are in the order in which their objects were stored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldingRow {
    stored: i64,
    /// Its object.
    pub object: ObjectId,
    /// The position of its item; `None` for a version or a nickname.
    pub item: Option<u64>,
}

/// A full-text index. It is derived data that can always be rebuilt, and is filled after
/// commits or by searches, never within a commit.
impl SqliteBackend {
    /// Indexes what is not indexed yet, in short write transactions, for as long as `patience`;
    /// returns whether all is indexed. Several processes may do so at once.
    ///
    /// # Errors
    /// If the store cannot be written; what was indexed before stays.
    pub fn index_texts(&self, patience: Option<Duration>) -> Result<bool> {
        self.fill::<Terms>(patience)
    }

    /// Number of versions that are not indexed yet.
    pub fn unindexed_texts(&self) -> Result<u64> {
        self.read(derived::unindexed::<Terms>)
    }

    /// The objects of these versions.
    pub fn objects_with_unindexed_texts(&self) -> Result<Vec<ObjectId>> {
        self.read(derived::unindexed_objects::<Terms>)
    }

    /// The first `limit` rows that hold these terms in a row, and whether there may be more.
    /// `in_name`: only those that hold them in their name.
    pub fn rows_holding(
        &self,
        terms: &[String],
        in_name: bool,
        limit: usize,
    ) -> Result<(BTreeSet<HoldingRow>, bool)> {
        let sql = "SELECT o.object, o.id, CASE WHEN r.part >= 0 THEN r.part END
                   FROM search_index AS f
                   CROSS JOIN search_row AS r ON r.row = f.rowid
                   CROSS JOIN object AS o ON o.object = r.object
                   WHERE search_index MATCH ?1 LIMIT ?2";
        let column = if in_name { "name : " } else { "" };
        let phrase = Phrase { terms: terms.to_vec(), is_prefix: false };
        let wanted = (format!("{column}{}", quoted(&phrase)), read::clip(limit as u64));
        let rows = self.read(|connection| {
            connection.all(sql, wanted.clone(), |row| {
                let object = ObjectId::new(row.get::<_, String>(1)?);
                let item = row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned);
                Ok(HoldingRow { stored: row.get(0)?, object, item })
            })
        })?;
        let more = rows.len() == limit;
        Ok((rows.into_iter().collect(), more))
    }

    /// Finds the rows that have at least one wanted unit and no excluded one: at most `limit`, best
    /// first.
    pub fn find_rows(
        &self,
        expression: &Expression,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<FoundRows> {
        self.read(|connection| find(connection, expression, filter, limit))
    }
}

/// Finds the best rows, in one snapshot of the file.
fn find(
    connection: &Connection,
    expression: &Expression,
    filter: &SearchFilter,
    limit: usize,
) -> Step<FoundRows> {
    let snapshot = connection.unchecked_transaction()?;
    let rows = search_index::rows(&snapshot)?;
    let excluded = expression.excluded.iter().flat_map(|unit| &unit.phrases);
    let search = Search {
        connection: &snapshot,
        rows,
        excluded: any_of(excluded.map(quoted)),
        filter: Filter::new(filter),
    };
    let units = search.units(expression)?;
    let mut ranking = Ranking::default();
    let mut is_complete = true;
    let mut oldest = i64::MIN;
    for (place, unit) in units.iter().enumerate() {
        let found = usize::try_from(unit.found).unwrap_or(usize::MAX);
        if ranking.len().saturating_add(found) <= MAX_RANKED || ranking.len() == 0 {
            for phrase in &unit.phrases {
                let scores = search.scores(phrase)?;
                if scores.len() == MAX_RANKED {
                    oldest = scores.last().map_or(oldest, |(row, _)| oldest.max(*row));
                    is_complete = false;
                }
                ranking.add(unit.place, scores);
            }
        } else {
            is_complete = false;
            let before = units[..place].iter().flat_map(|unit| &unit.phrases);
            let known = any_of(before.map(|(phrase, _)| phrase.clone()));
            for phrase in &unit.phrases {
                let rows = search.rows_with(known.as_deref(), phrase, oldest)?;
                let weight = inverse_frequency(search.rows, phrase.1);
                let held: Vec<(i64, f64)> = rows
                    .into_iter()
                    .filter(|row| ranking.holds(*row))
                    .map(|row| (row, weight))
                    .collect();
                ranking.add(unit.place, held);
            }
        }
    }
    let total = ranking.len() as u64;
    let best = ranking.best(expression.wanted.len()).into_iter().take(limit);
    let best = best.map(|(row, score)| search.found(row, score)).collect::<Step<_>>()?;
    Ok(FoundRows { best, total, is_complete })
}

/// A wanted unit: its place in the search, its phrases in FTS5's form with the number of rows of
/// each, and the total.
struct WantedUnit {
    place: usize,
    phrases: Vec<(String, u64)>,
    found: u64,
}

struct Search<'a> {
    connection: &'a Connection,
    /// Rows of the index.
    rows: u64,
    excluded: Option<String>,
    filter: Filter,
}

impl Search<'_> {
    /// The units that occur anywhere, rarest first.
    fn units(&self, expression: &Expression) -> Step<Vec<WantedUnit>> {
        let mut units = Vec::new();
        for (place, unit) in expression.wanted.iter().enumerate() {
            let mut phrases = Vec::new();
            for phrase in &unit.phrases {
                let text = quoted(phrase);
                let sql = "SELECT count(*) FROM search_index WHERE search_index MATCH ?1";
                let found: i64 = self.connection.one(sql, [&text], |row| Ok(row.get(0)?))?;
                if found > 0 {
                    phrases.push((text, found.unsigned_abs()));
                }
            }
            let found = phrases.iter().map(|(_, found)| found).sum();
            if found > 0 {
                units.push(WantedUnit { place, phrases, found });
            }
        }
        units.sort_by_key(|unit| unit.found);
        Ok(units)
    }

    /// The newest rows with a phrase that pass the filter, at most as many as are ranked, each with
    /// its contribution.
    fn scores(&self, (phrase, found): &(String, u64)) -> Step<Vec<(i64, f64)>> {
        let [name, text, joined] = WEIGHTS;
        let sql = format!(
            "SELECT f.rowid, bm25(search_index, {name}, {text}, {joined}) FROM search_index AS f {}
             WHERE search_index MATCH ? {} ORDER BY f.rowid DESC LIMIT {MAX_RANKED}",
            self.filter.join, self.filter.condition,
        );
        let parameters = self.filter.parameters(self.without_excluded(phrase));
        // The weight that FTS5 gave the phrase (sqlite.org/fts5.html, "The bm25() function").
        let weighed = fts5_inverse_frequency(self.rows, *found);
        let factor = inverse_frequency(self.rows, *found) / weighed;
        self.connection.all(&sql, params_from_iter(parameters), |row| {
            Ok((row.get(0)?, -row.get::<_, f64>(1)? * factor))
        })
    }

    /// Rows from `oldest` on that hold a phrase and match an earlier lookup.
    fn rows_with(
        &self,
        known: Option<&str>,
        (phrase, _): &(String, u64),
        oldest: i64,
    ) -> Step<Vec<i64>> {
        let phrase = match known {
            Some(known) => format!("({known}) AND ({phrase})"),
            None => phrase.clone(),
        };
        let sql = "SELECT rowid FROM search_index WHERE search_index MATCH ?1 AND rowid >= ?2";
        self.connection.all(sql, (phrase, oldest), |row| Ok(row.get(0)?))
    }

    fn without_excluded(&self, phrase: &str) -> String {
        match &self.excluded {
            Some(excluded) => format!("({phrase}) NOT ({excluded})"),
            None => phrase.to_owned(),
        }
    }

    fn found(&self, row: i64, score: f64) -> Step<FoundText> {
        let sql = "SELECT o.id, o.type, CASE r.part WHEN -1 THEN
                       (SELECT max(tx_id) FROM version WHERE object = r.object) ELSE r.tx_id END,
                   r.part, r.latest FROM search_row AS r JOIN object AS o ON o.object = r.object WHERE r.row = ?1";
        self.connection.one(sql, [row], |row| {
            let part = match row.get(3)? {
                VERSION => FoundIn::Version,
                NICKNAME => FoundIn::Nickname,
                position => FoundIn::Item(position.unsigned_abs()),
            };
            let id = ObjectId::new(row.get::<_, String>(0)?);
            let (kind, tx_id, is_latest) = (rows::kind(row, 1)?, TxId(row.get(2)?), row.get(4)?);
            Ok(FoundText { id, kind, tx_id, part, is_latest, score })
        })
    }
}

/// A filter as SQL. Only tables that it needs are joined.
struct Filter {
    join: &'static str,
    condition: String,
    values: Vec<String>,
}

impl Filter {
    fn new(filter: &SearchFilter) -> Self {
        let mut condition = String::new();
        let mut values = Vec::new();
        if !filter.all_versions {
            // Few rows remain, so this is cheaper than checking each row found.
            condition.push_str(
                " AND NOT EXISTS (SELECT 1 FROM search_row AS l INDEXED BY search_row_left
                 WHERE l.row = f.rowid AND l.latest = 0)",
            );
        }
        if let Some(session) = &filter.session {
            condition
                .push_str(" AND r.session = (SELECT session FROM search_session WHERE key = ?)");
            values.push(session.clone());
        }
        let by_row = filter.session.is_some();
        let by_object = !filter.kinds.is_empty() || filter.path_prefix.is_some();
        if !filter.kinds.is_empty() {
            let places = vec!["?"; filter.kinds.len()].join(", ");
            condition.extend([" AND o.type IN (", &places, ")"]);
            values.extend(filter.kinds.iter().map(|kind| kind.as_str().to_owned()));
        }
        if let Some(prefix) = &filter.path_prefix {
            condition.push_str(" AND substr(o.source ->> '$.path', 1, length(?)) = ?");
            values.extend([prefix.clone(), prefix.clone()]);
        }
        let join = match (by_object, by_row) {
            (false, false) => "",
            (false, true) => "CROSS JOIN search_row AS r ON r.row = f.rowid",
            (true, _) => {
                "CROSS JOIN search_row AS r ON r.row = f.rowid
                 CROSS JOIN object AS o ON o.object = r.object"
            }
        };
        Self { join, condition, values }
    }

    fn parameters(&self, expression: String) -> impl Iterator<Item = String> {
        [expression].into_iter().chain(self.values.iter().cloned())
    }
}

/// A phrase in FTS5's language. Terms hold nothing that has a meaning there, and are quoted.
fn quoted(phrase: &Phrase) -> String {
    format!("\"{}\"{}", phrase.terms.join(" "), if phrase.is_prefix { " *" } else { "" })
}

fn any_of(phrases: impl Iterator<Item = String>) -> Option<String> {
    let phrases: Vec<String> = phrases.collect();
    (!phrases.is_empty()).then(|| phrases.join(" OR "))
}

/// The inverse frequency in FTS5's `bm25()`.
#[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
fn fts5_inverse_frequency(rows: u64, found: u64) -> f64 {
    let (rows, found) = (rows.max(found) as f64, found as f64);
    let frequency = ((rows - found + 0.5) / (found + 0.5)).ln();
    if frequency <= 0.0 { 1e-6 } else { frequency }
}
