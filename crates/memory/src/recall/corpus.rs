//! The words of passages, as counted for ranking. Must not say which passage is better, or where
//! one comes from.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::passages::Passage;
use store::{Phrase, TermKind, each_term};

/// A word's number within one corpus.
type Term = u32;

/// Passages in the order of their documents, as words.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    terms: HashMap<String, Term>,
    /// The passages.
    pub(super) passages: Vec<Indexed>,
    /// Words of the text of each passage.
    pub(super) lengths: Vec<f64>,
    /// Words of each document.
    pub(super) document_lengths: Vec<f64>,
}

/// The occurrence of a phrase in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The passage.
    pub(super) passage: usize,
    /// Its document.
    pub(super) document: usize,
    /// How often in its text.
    pub(super) in_text: u32,
    /// Whether it is in its headings or in the name of its document.
    pub(super) in_context: bool,
}

/// A passage as words.
#[derive(Debug)]
pub(super) struct Indexed {
    /// Number of its document.
    pub(super) document: usize,
    /// Number of its section: neighbours belong to the same.
    pub(super) section: usize,
    /// Words of the text in their order.
    text: Vec<Term>,
    /// Words of headings and name.
    context: Vec<Term>,
}

impl Corpus {
    /// Indexes passages, which are in the order of their documents.
    pub(super) fn new(passages: &[Passage]) -> Self {
        let mut corpus = Self::default();
        for passage in passages {
            let text = corpus.read(&passage.text);
            let context = corpus.read(&passage.context);
            let Passage { document, section, .. } = *passage;
            corpus.lengths.push(count(text.len()));
            corpus.document_lengths.resize(document + 1, 0.0);
            corpus.document_lengths[document] += count(text.len());
            corpus.passages.push(Indexed { document, section, text, context });
        }
        corpus
    }

    fn read(&mut self, text: &str) -> Vec<Term> {
        let mut read = Vec::new();
        each_term(text, |term, _, kind| {
            if kind == TermKind::Part {
                let next = Term::try_from(self.terms.len()).unwrap_or(Term::MAX);
                let known = self.terms.get(term).copied();
                read.push(known.unwrap_or_else(|| {
                    self.terms.insert(term.to_owned(), next);
                    next
                }));
            }
            ControlFlow::Continue(())
        });
        read
    }

    /// Where a search phrase occurs.
    pub(super) fn find(&self, phrase: &Phrase) -> Vec<Place> {
        let Some((last, first)) = phrase.terms.split_last() else { return Vec::new() };
        let first: Option<Vec<Term>> =
            first.iter().map(|word| self.terms.get(word).copied()).collect();
        let Some(first) = first else { return Vec::new() };
        let lasts: Vec<Term> = if phrase.is_prefix {
            let words = self.terms.iter().filter(|(word, _)| word.starts_with(&**last));
            words.map(|(_, term)| *term).collect()
        } else {
            self.terms.get(last).copied().into_iter().collect()
        };
        if lasts.is_empty() {
            return Vec::new();
        }
        let runs = |words: &[Term]| {
            let runs = words.windows(first.len() + 1).filter(|run| {
                run.split_last().is_some_and(|(end, start)| lasts.contains(end) && start == first)
            });
            u32::try_from(runs.count()).unwrap_or(u32::MAX)
        };
        let numbered = self.passages.iter().enumerate();
        let places = numbered.map(|(passage, Indexed { document, text, context, .. })| Place {
            passage,
            document: *document,
            in_text: runs(text),
            in_context: runs(context) > 0,
        });
        places.filter(|place| place.in_text > 0 || place.in_context).collect()
    }
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "counts of words and passages are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
