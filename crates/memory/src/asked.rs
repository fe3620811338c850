//! What the model asks memory itself, by the tool `activate`: a search, and to note that it checked a
//! marked entry. Must not give it what it may not have, or let it confirm what a person did not.

use std::fmt::Write as _;

use super::block::stale_mark;
use super::page::{Page, PageId};
use super::recall::{RecallHit, RecallOptions, RecallPlace, RecallReason};
use super::trace::Traced;
use super::{Look, Memory};
use base::error::{Error, Result};
use base::object::quote;
use context::tokens;

/// Most entries of an answer.
const MOST_HITS: usize = 5;
/// Most places that say nearly the same as one entry of it.
const MOST_ALIKE: usize = 3;
/// Most tokens of one entry in it; of a longer one the lines that were found are shown.
const MOST_TOKENS: u64 = 120;
/// Least digits of an ID by which an entry is named.
const LEAST_DIGITS: usize = 4;

impl Memory {
    /// Answers the model: `how do we deploy` searches, `confirm 3f2a9c1b` takes the mark from an entry
    /// that it checked. That changes neither whose the entry is nor when a person confirmed it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` where the session does not show memory; `NO_PAGE`.
    pub fn asked(&mut self, question: &str) -> Result<String> {
        if !self.in_force.is_shown() {
            return Err(Error::argument("name", "names memory, which this session does not use"));
        }
        match checked_id(question) {
            Some(id) => self.note_check(id),
            None => Ok(self.search(question)),
        }
    }

    fn search(&mut self, question: &str) -> String {
        let options = RecallOptions { limit: 2 * MOST_HITS, ..RecallOptions::default() };
        let look = self.look();
        let answer = self.recall_at(question, &options, None, &look);
        let may_have = answer.hits.iter().filter_map(|hit| self.shown_hit(hit, &look));
        let mut shown: Vec<String> = may_have.collect();
        let withheld = answer.hits.len() - shown.len();
        shown.truncate(if answer.reason == RecallReason::Weak { 3 } else { MOST_HITS });
        let mut said = match answer.reason {
            RecallReason::Ok if !shown.is_empty() => String::new(),
            RecallReason::Weak if !shown.is_empty() => {
                "Memory hardly answers that; the nearest:\n".to_owned()
            }
            RecallReason::Malformed => "Memory needs words to look for.".to_owned(),
            RecallReason::Denied | RecallReason::Unavailable | RecallReason::BackendError => {
                "Memory could not be searched for that.".to_owned()
            }
            _ if withheld > 0 => "Memory may not show what it holds of that.".to_owned(),
            _ => "Memory holds nothing of that.".to_owned(),
        };
        said.push_str(&shown.join("\n"));
        if withheld > 0 {
            let _ = write!(said, "\nWithheld, since they look like they hold a secret: {withheld}");
        }
        for problem in answer.problems.iter().filter(|one| one.reason > RecallReason::Malformed) {
            let _ = write!(said, "\nNot searched: {}", quote::line(&problem.message));
        }
        said
    }

    /// A hit with its place and what is known of it; `None` of what a model may not get.
    fn shown_hit(&mut self, hit: &RecallHit, look: &Look) -> Option<String> {
        let RecallPlace::File { scope, file, line, is_archived, .. } = &hit.place else {
            return None;
        };
        let found = look.files.iter().find(|one| (one.scope, &one.file) == (*scope, file))?;
        let page = found.pages.iter().find(|page| Some(&page.id) == hit.page.as_ref());
        let lines: Vec<usize> =
            hit.lines.iter().filter_map(|line| usize::try_from(line.line).ok()).collect();
        if page.is_some_and(|page| page.is_withheld)
            || lines.iter().any(|line| found.is_withheld(*line))
        {
            return None;
        }
        let path = self.path(*scope, file).map(|path| self.shown_path(&path))?;
        let mut head = format!("{}:{line}", quote::name(&path));
        if let Some(page) = page {
            let _ = write!(head, " {}", page.id);
        }
        if *is_archived {
            head.push_str(" (archived)");
        }
        let also = hit.alike.iter().filter_map(|place| match place {
            RecallPlace::File { file, line, .. } => Some(format!("{}:{line}", quote::name(file))),
            RecallPlace::Message { .. } => None,
        });
        let also: Vec<String> = also.take(MOST_ALIKE).collect();
        if !also.is_empty() {
            let _ = write!(head, " (also {})", also.join(", "));
        }
        let mark = page.and_then(|page| look.stale_words(page)).map(stale_mark).unwrap_or_default();
        let whole = page.filter(|page| tokens::count(&page.text) <= MOST_TOKENS);
        let text = if let Some(page) = whole {
            self.injector.form(page, u32::MAX).trim_end().to_owned()
        } else {
            let lines = hit.lines.iter().map(|line| quote::line(line.text.trim()));
            lines.collect::<Vec<_>>().join("\n")
        };
        Some(format!("{head}{mark}\n{text}"))
    }

    /// The model checked an entry.
    fn note_check(&mut self, id: &str) -> Result<String> {
        let (look, now) = (self.look(), self.now());
        let page = look.page(id)?;
        let place = |page: &Page| format!("{}:{}", quote::name(&page.place.file), page.place.line);
        let Some(staleness) = look.staleness(&page.id) else {
            return Ok(format!("{} has no mark.", place(page)));
        };
        let cited: Vec<String> = staleness.cited.iter().map(|cited| cited.pin.place()).collect();
        let places = self.keeper.places(&self.folders);
        self.keeper.note_check(page, (&places, &self.folders), now);
        let shown: Vec<_> = cited.iter().map(|cited| quote::name(cited)).collect();
        let said = format!(
            "{} is taken to hold with {} as now; the user sees that you checked it.",
            place(page),
            shown.join(", ")
        );
        let page: PageId = page.id.clone();
        self.trace(Traced::Checked { page, cited });
        Ok(said)
    }
}

/// The ID in `confirm 3f2a9c1b`; `None` if that is a search.
fn checked_id(question: &str) -> Option<&str> {
    let (verb, id) = question.split_once(char::is_whitespace)?;
    let id = id.trim();
    let is_id = id.len() >= LEAST_DIGITS && id.chars().all(|char| char.is_ascii_hexdigit());
    (verb.eq_ignore_ascii_case("confirm") && is_id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_behind_confirm_is_no_search() {
        for (question, id) in [
            ("confirm 3f2a9c1b", Some("3f2a9c1b")),
            ("Confirm  3F2A ", Some("3F2A")),
            ("confirm orders by mail", None),
            ("confirm abc", None),
            ("3f2a9c1b", None),
            ("confirm", None),
        ] {
            assert_eq!(checked_id(question), id, "{question}");
        }
    }
}
