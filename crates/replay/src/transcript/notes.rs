//! Counts what a reader left out or mended, in order of first occurrence. Plain data.

/// The note about lines that are no JSON.
pub(super) const UNREAD_LINES: &str = "lines that are not JSON objects left out";
/// The note about what a crash left between two lines.
pub(super) const HOLES: &str = "holes of NUL bytes, which may have been lines";

/// The note about a compressed file whose end is not there, or cannot be expanded.
pub(super) const DAMAGED: &str =
    "compressed files that are damaged, of which only the beginning is read";

/// The note about searches and other tools that the provider itself runs, whose outputs are not in
/// the file as the model saw them.
pub(super) const OF_PROVIDER: &str = "calls of the provider's own tools left out";

/// Counts of events.
#[derive(Debug, Default)]
pub(super) struct Notes {
    counts: Vec<Note>,
}

#[derive(Debug)]
struct Note {
    what: String,
    count: u64,
    /// Line of the first occurrence, from 1.
    line: Option<u64>,
}

impl Notes {
    /// Counts something that has no line.
    pub(super) fn count(&mut self, what: &str) {
        self.add(what, 1, None);
    }

    /// Counts something at a line of the file.
    pub(super) fn count_at(&mut self, what: &str, line: u64) {
        self.add(what, 1, Some(line));
    }

    /// Counts something that has no line, so many times.
    pub(super) fn count_all(&mut self, what: &str, count: usize) {
        self.add(what, count as u64, None);
    }

    fn add(&mut self, what: &str, count: u64, line: Option<u64>) {
        match self.counts.iter_mut().find(|note| note.what == what) {
            Some(note) => note.count += count,
            None if count == 0 => {}
            None => self.counts.push(Note { what: what.to_owned(), count, line }),
        }
    }

    /// Appends other counts.
    pub(super) fn append(&mut self, others: Self) {
        for Note { what, count, line } in others.counts {
            self.add(&what, count, line);
        }
    }

    /// How many lines cannot be read, or are lost, of those that may have held anything. What is
    /// behind damage is one.
    pub(super) fn unread(&self) -> u64 {
        let lost = [UNREAD_LINES, HOLES, DAMAGED];
        let unread = self.counts.iter().filter(|note| lost.contains(&&*note.what));
        unread.map(|note| note.count).sum()
    }

    /// One line each: what, how often, and the line of the first occurrence.
    pub(super) fn into_lines(self) -> Vec<String> {
        let text = |Note { what, count, line }| match line {
            Some(line) if count == 1 => format!("{what}: 1 (line {line})"),
            Some(line) => format!("{what}: {count} (first at line {line})"),
            None => format!("{what}: {count}"),
        };
        self.counts.into_iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_its_count_and_its_first_line() {
        let mut notes = Notes::default();
        notes.count_at("bad lines", 3);
        notes.count("calls without a result");
        notes.count_at("bad lines", 9);
        assert_eq!(
            notes.into_lines(),
            ["bad lines: 2 (first at line 3)", "calls without a result: 1"]
        );
    }
}
