//! Finds the objects that hold forgotten lines or refer to forgotten objects by the indexes, so
//! that it costs what the forgotten text costs, and not what the store holds. Objects that the
//! indexes do not cover yet are read whole. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::forgotten_lines::ForgottenLines;
use super::plan::own;
use super::scan::{Held, Scan, Scanned, session_of};
use crate::{HoldingRow, SqliteBackend, TermKind, each_term};
use base::error::Result;
use base::object::item::partner;
use base::object::{AsOf, ObjectId, ObjectType};

/// A line counts as common from this number of other objects on.
const COMMON_FROM: usize = 3;

/// A line that stands inside longer lines counts as common from this number of other objects on,
/// such as the path of a project's folder. One that looks like a key goes, but no more objects are
/// looked for.
const COMMON_INSIDE_FROM: usize = 64;

/// Rows that are looked at for a line, in growing steps until it is known to be common.
const ROWS: [usize; 2] = [64, 4_096];

/// Lines that are looked for together.
const TOGETHER: usize = 1_024;

/// Rows with a line in their name that are looked at: is it the path of a file?
const NAMES: usize = 64;

/// Most words of a line that are looked for.
const TERMS: usize = 8;

/// A line of this many words is looked for without its first and last where nothing stands before or
/// after them: in a longer text they may be parts of longer words.
const INNER_FROM: usize = 4;

/// A search by the indexes.
pub(super) struct Find<'a> {
    pub(super) scan: Scan<'a>,
    pub(super) indexes: &'a SqliteBackend,
    /// Whether a session is forgotten: then the lines of files that stay are common too.
    pub(super) is_session: bool,
    seen: BTreeMap<ObjectId, Option<Held>>,
    counts: Vec<Count>,
    /// Lines of files and system prompts that stay.
    stays: BTreeSet<usize>,
    own: BTreeSet<ObjectId>,
    /// What has words of a line in its name.
    named: BTreeSet<ObjectId>,
}

impl<'a> Find<'a> {
    pub(super) fn new(scan: Scan<'a>, indexes: &'a SqliteBackend, is_session: bool) -> Self {
        let counts = vec![Count::default(); scan.lines.count()];
        let (seen, stays, own, named) = Default::default();
        Self { scan, indexes, is_session, seen, counts, stays, own, named }
    }

    /// Finds what concerns the lines and the targets.
    pub(super) fn run(mut self) -> Result<Scanned> {
        self.look_at_own()?;
        let mut unsearched = 0;
        let lines: Vec<usize> = (0..self.scan.lines.count()).collect();
        for lines in lines.chunks(TOGETHER) {
            unsearched += self.look_for(lines)?;
        }
        self.look_at_documents()?;
        let is_cut =
            (0..self.counts.len()).any(|line| self.is_found(line) && !self.is_settled(line));
        let held = self.seen.into_values().flatten().collect();
        Ok(Scanned { held, paths: self.scan.paths, unsearched, is_cut })
    }

    /// What no index covers, and what refers to the targets.
    fn look_at_own(&mut self) -> Result<()> {
        let mut ids = self.indexes.objects_with_unindexed_texts()?;
        ids.extend(self.indexes.objects_with_unindexed_relations()?);
        for target in self.scan.targets {
            for id in self.indexes.objects_naming(target.as_str())? {
                ids.extend(self.documents_of(&id)?);
                ids.push(id);
            }
        }
        for id in &ids {
            self.read(id)?;
        }
        if !self.is_session {
            self.own = own(self.seen.values().flatten()).into_iter().collect();
        }
        self.seen.values().flatten().for_each(|held| {
            count(held, self.is_session, &self.own, &mut self.counts, &mut self.stays);
        });
        Ok(())
    }

    /// Looks for each line until enough is found, or everywhere; returns how many are in no index.
    fn look_for(&mut self, lines: &[usize]) -> Result<usize> {
        let (mut wanted, mut unsearched) = (Vec::new(), 0);
        let all = self.scan.lines;
        for line in lines.iter().copied() {
            if self.is_found(line) {
                continue;
            }
            let text = all.text(line);
            let terms = terms(text);
            if terms.is_empty() {
                unsearched += 1;
                continue;
            }
            if text.contains('/') && !text.contains(char::is_whitespace) {
                for row in self.indexes.rows_holding(&terms, true, NAMES)?.0 {
                    if self.named.insert(row.object.clone())
                        && let Some(file) = self.scan.store.get(&row.object, AsOf::Latest)?
                    {
                        self.scan.path(&file);
                    }
                }
            }
            wanted.push((line, terms));
        }
        for rows in ROWS {
            // In the order in which they were stored: what is read together stands together there.
            let mut holding: BTreeMap<HoldingRow, Vec<usize>> = BTreeMap::new();
            wanted.retain(|(line, _)| !self.is_found(*line));
            for (line, terms) in std::mem::take(&mut wanted) {
                let (found, more) = self.indexes.rows_holding(&terms, false, rows)?;
                for row in found {
                    holding.entry(row).or_default().push(line);
                }
                wanted.extend(more.then_some((line, terms)));
            }
            for (row, lines) in holding {
                if self.may_hold(&row, &lines)? {
                    self.look_at(&row.object)?;
                }
            }
        }
        Ok(unsearched)
    }

    /// Whether an object that was not read yet may hold one of the lines that are not found: a row
    /// of it has their words. A chat is long, and is read only if the item itself has such a line.
    fn may_hold(&self, row: &HoldingRow, lines: &[usize]) -> Result<bool> {
        let wanted = |line: &usize| !self.is_found(*line);
        let is_wanted = lines.iter().any(wanted) && !self.seen.contains_key(&row.object);
        let Some(at) = row.item.filter(|_| is_wanted) else { return Ok(is_wanted) };
        let (mut inside, mut whole) = Default::default();
        for placed in self.scan.store.backend().placed_items(&row.object, at..at + 1)? {
            self.scan.item(&placed.item.text, &mut inside, &mut whole);
        }
        Ok(inside.iter().any(wanted))
    }

    /// Whether nothing more is to be learned about a line.
    fn is_found(&self, line: usize) -> bool {
        self.is_settled(line) || self.counts[line].inside >= COMMON_INSIDE_FROM
    }

    /// Whether a line stays, whatever else is found.
    fn is_settled(&self, line: usize) -> bool {
        let lines = self.scan.lines;
        let is_common = self.counts[line].is_common(lines, line) && !lines.looks_like_key(line);
        is_common || self.stays.contains(&line) || self.scan.paths.contains(&line)
    }

    /// A session's events and its chat's calls repeat the text of its tool calls and of the files
    /// that it met, and are in no index.
    fn look_at_documents(&mut self) -> Result<()> {
        let goes: BTreeSet<usize> =
            (0..self.counts.len()).filter(|line| !self.is_settled(*line)).collect();
        let holds = |held: &&Held| !held.inside.is_disjoint(&goes);
        let holders = self.seen.values().flatten().filter(holds).map(|held| held.id.clone());
        for id in holders.collect::<Vec<_>>() {
            for document in self.documents_of(&id)? {
                self.look_at(&document)?;
            }
        }
        Ok(())
    }

    /// The chats and sessions in which an object stands.
    fn documents_of(&self, id: &ObjectId) -> Result<Vec<ObjectId>> {
        let store = self.scan.store;
        let mut documents = Vec::new();
        let mut add = |id: &ObjectId| -> Result<()> {
            let latest = store.get(id, AsOf::Latest)?;
            let Some(document) = latest.as_ref().and_then(session_of) else { return Ok(()) };
            if let Some(other) = store.get(&document, AsOf::Latest)? {
                documents.extend(partner(other.envelope.kind, &other.fields));
            }
            documents.push(document);
            Ok(())
        };
        add(id)?;
        if store.get(id, AsOf::Latest)?.is_some_and(|it| it.envelope.kind == ObjectType::File) {
            for naming in self.indexes.objects_naming(id.as_str())? {
                add(&naming)?;
            }
        }
        Ok(documents)
    }

    /// Reads an object once, and counts it.
    fn look_at(&mut self, id: &ObjectId) -> Result<()> {
        if self.read(id)?
            && let Some(Some(held)) = self.seen.get(id)
        {
            count(held, self.is_session, &self.own, &mut self.counts, &mut self.stays);
        }
        Ok(())
    }

    /// `false` if it was read before.
    fn read(&mut self, id: &ObjectId) -> Result<bool> {
        if self.seen.contains_key(id) {
            return Ok(false);
        }
        let held = self.scan.object(&self.scan.store.history(id)?)?;
        self.seen.insert(id.clone(), held);
        Ok(true)
    }
}

/// In how many objects a line counts towards being common.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    whole: usize,
    inside: usize,
}

impl Count {
    /// Whether so many others have the line that it says nothing about the forgotten text.
    pub(super) fn is_common(self, lines: &ForgottenLines, line: usize) -> bool {
        let whole = if lines.is_of_text(line) { COMMON_FROM } else { 1 };
        self.whole >= whole || self.inside >= COMMON_INSIDE_FROM
    }
}

/// Counts an object towards its lines being common, or notes that they stay.
pub(super) fn count(
    held: &Held,
    is_session: bool,
    own: &BTreeSet<ObjectId>,
    counts: &mut [Count],
    stays: &mut BTreeSet<usize>,
) {
    if own.contains(&held.id) {
        return;
    }
    if is_session && matches!(held.kind, ObjectType::File | ObjectType::SystemPrompt) {
        stays.extend(&held.whole);
    }
    // A session's events repeat its chat's text, and the chat is counted already.
    if !held.is_copy && held.kind != ObjectType::Session {
        held.whole.iter().for_each(|line| counts[*line].whole += 1);
        held.inside.iter().for_each(|line| counts[*line].inside += 1);
    }
}

/// The words by which a line is found.
fn terms(line: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut end = 0;
    each_term(line, |term, at, kind| {
        if kind == TermKind::Part {
            end = at.end;
            terms.push((term.to_owned(), at.start));
        }
        if terms.len() < TERMS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if terms.len() >= INNER_FROM {
        if end == line.len() {
            terms.pop();
        }
        // After an apostrophe, a longer text may have the end of `it's`.
        if terms[0].1 == 0 || line.starts_with(['\'', '\u{2019}']) {
            terms.remove(0);
        }
    }
    terms.into_iter().map(|(term, _)| term).collect()
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn words_that_may_be_parts_of_longer_ones_are_not_looked_for() {
        assert_eq!(terms("one two three four").join(" "), "two three");
        assert_eq!(terms("- one two three four;").join(" "), "one two three four");
        assert_eq!(terms("(one two three four").join(" "), "one two three");
        assert_eq!(terms("'s one two three.").join(" "), "one two three");
        assert_eq!(terms("one two;").join(" "), "one two");
        assert_eq!(terms("a b c d e f g h i j").join(" "), "b c d e f g h");
    }
}
