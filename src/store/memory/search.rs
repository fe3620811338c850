//! Search in memory: every text is taken apart again for every search. Slow and obviously right; keeps no index.

use std::collections::{BTreeMap, BTreeSet};

use super::{MemoryBackend, Object, State};
use crate::error::Result;
use crate::object::{ObjectId, Source, TxId};
use crate::store::search::{
    B, Columns, K1, Phrase, Ranking, Searched, WEIGHTS, inverse_frequency, session_of,
};
use crate::store::{Expression, Found, FoundIn, FoundRows, SearchFilter, SearchIndex, Version};

impl SearchIndex for MemoryBackend {
    fn catch_up(&self) -> Result<()> {
        Ok(())
    }

    fn unindexed(&self) -> Result<u64> {
        Ok(0)
    }

    fn find(
        &self,
        expression: &Expression,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<FoundRows> {
        self.read(|state| find(&state.search_rows(), expression, filter, limit))
    }

    fn reindex(&self, _ids: &[ObjectId]) -> Result<()> {
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        Ok(())
    }
}

/// A row as an index would have it.
struct SearchRow<'a> {
    version: &'a Version,
    tx_id: TxId,
    part: FoundIn,
    is_latest: bool,
    columns: [Vec<String>; 3],
}

impl SearchRow<'_> {
    fn length(&self) -> f64 {
        count(self.columns.iter().map(Vec::len).sum())
    }

    /// How often a phrase stands in it, by the weights of where.
    fn frequency(&self, phrase: &Phrase) -> f64 {
        let in_column = |terms: &Vec<String>| {
            count((0..terms.len()).filter(|at| phrase.ends_at(terms, *at)).count())
        };
        self.columns.iter().zip(WEIGHTS).map(|(terms, weight)| weight * in_column(terms)).sum()
    }

    fn passes(&self, filter: &SearchFilter) -> bool {
        let Version { envelope, fields, .. } = self.version;
        let path = envelope.source.as_ref().and_then(Source::path);
        (filter.all_versions || self.is_latest)
            && (filter.kinds.is_empty() || filter.kinds.contains(&envelope.kind))
            && filter.session.as_deref().is_none_or(|session| {
                self.part != FoundIn::Nickname && session_of(envelope, fields) == Some(session)
            })
            && filter
                .path_prefix
                .as_deref()
                .is_none_or(|prefix| path.is_some_and(|path| path.starts_with(prefix)))
    }
}

fn find(
    rows: &[SearchRow<'_>],
    expression: &Expression,
    filter: &SearchFilter,
    limit: usize,
) -> FoundRows {
    let average = rows.iter().map(SearchRow::length).sum::<f64>() / count(rows.len());
    let excluded = expression.excluded.iter().flat_map(|unit| &unit.phrases);
    let excluded: Vec<&Phrase> = excluded.collect();
    let is_wanted = |row: &SearchRow<'_>| {
        row.passes(filter) && excluded.iter().all(|phrase| row.frequency(phrase) == 0.0)
    };
    let mut ranking = Ranking::default();
    for (unit, phrases) in expression.wanted.iter().map(|unit| &unit.phrases).enumerate() {
        for phrase in phrases {
            let found: Vec<(usize, f64)> = rows
                .iter()
                .map(|row| row.frequency(phrase))
                .enumerate()
                .filter(|(_, frequency)| *frequency > 0.0)
                .collect();
            let weight = inverse_frequency(rows.len() as u64, found.len() as u64);
            let wanted = found.into_iter().filter(|(row, _)| is_wanted(&rows[*row]));
            let scores = wanted.map(|(row, frequency)| {
                let length = 1.0 - B + B * rows[row].length() / average;
                let score = weight * frequency * (K1 + 1.0) / (frequency + K1 * length);
                (i64::try_from(row).unwrap_or(i64::MAX), score)
            });
            ranking.add(unit, scores);
        }
    }
    let total = ranking.len() as u64;
    let best = ranking.best(expression.wanted.len()).into_iter().take(limit);
    let best = best.filter_map(|(row, score)| {
        let row = rows.get(usize::try_from(row).ok()?)?;
        let SearchRow { version, tx_id, part, is_latest, .. } = row;
        let (id, kind) = (version.envelope.id.clone(), version.envelope.kind);
        Some(Found { id, kind, tx_id: *tx_id, part: *part, is_latest: *is_latest, score })
    });
    FoundRows { best: best.collect(), total, is_complete: true }
}

impl State {
    /// All rows, oldest first.
    fn search_rows(&self) -> Vec<SearchRow<'_>> {
        let mut rows: Vec<SearchRow<'_>> = Vec::new();
        for (id, object) in &self.objects {
            rows.extend(self.version_rows(object));
            rows.extend(object.item_rows());
            if let Some(version) = object.versions.last() {
                let names = self.nicknames.iter().filter(|(_, owner)| *owner == id);
                // Names that differ in signs only share a row.
                let names: BTreeSet<[Vec<String>; 3]> = names
                    .filter_map(|(name, _)| Searched::nickname(name.as_str()).columns())
                    .map(|columns| split(&columns))
                    .collect();
                rows.extend(names.into_iter().map(|columns| SearchRow {
                    version,
                    tx_id: version.tx_id,
                    part: FoundIn::Nickname,
                    is_latest: true,
                    columns,
                }));
            }
        }
        rows.sort_by_key(|row| row.tx_id);
        rows
    }

    /// One row for each distinct text that an object had.
    fn version_rows<'a>(&'a self, object: &'a Object) -> impl Iterator<Item = SearchRow<'a>> {
        let mut rows: BTreeMap<[Vec<String>; 3], SearchRow<'a>> = BTreeMap::new();
        for version in &object.versions {
            for row in rows.values_mut() {
                row.is_latest = false;
            }
            let named = version.content.iter().map(|hash| ("content", hash));
            let additional = version.additional.iter().map(|(name, hash)| (name.as_str(), hash));
            let contents = named.chain(additional).filter_map(|(name, hash)| {
                Some((name.to_owned(), self.contents.get(hash)?.clone()))
            });
            let searched = Searched::version(&version.envelope, &version.fields, contents);
            let Some(columns) = searched.columns() else { continue };
            let columns = split(&columns);
            let row = SearchRow {
                version,
                tx_id: version.tx_id,
                part: FoundIn::Version,
                is_latest: true,
                columns: columns.clone(),
            };
            rows.insert(columns, row);
        }
        rows.into_values()
    }
}

impl Object {
    fn item_rows(&self) -> impl Iterator<Item = SearchRow<'_>> {
        let placed = (0..)
            .zip(&self.places)
            .flat_map(|(position, place)| place.iter().map(move |placed| (position, placed)));
        placed.filter_map(|(position, placed)| {
            let version = self.versions.iter().find(|version| version.tx_id == placed.from)?;
            let columns = Searched::item(version.envelope.kind, &placed.item.text).columns()?;
            Some(SearchRow {
                version,
                tx_id: placed.from,
                part: FoundIn::Item(position),
                is_latest: placed.until.is_none(),
                columns: split(&columns),
            })
        })
    }
}

fn split(columns: &Columns) -> [Vec<String>; 3] {
    columns.0.each_ref().map(|column| column.split_whitespace().map(str::to_owned).collect())
}

#[expect(clippy::cast_precision_loss, reason = "counts in memory are far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
