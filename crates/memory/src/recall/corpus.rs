//! The words of passages, as counted for ranking. Must not say which passage is better, or where
//! one comes from.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::passages::Passage;
use store::{Phrase, TermKind, each_term};

/// Shortest beginning by which one word stands for another, in characters: `config` for
/// `configuration`.
const BEGINNING: usize = 5;
/// Most characters that a word may have beyond a beginning that is searched for.
const BEYOND: usize = 4;

/// A word's number within one corpus.
pub(super) type Term = u32;

/// Passages in the order of their documents, as words.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    terms: HashMap<String, Term>,
    /// The passages that hold each word, ascending.
    holders: Vec<Vec<usize>>,
    /// The passages.
    pub(super) passages: Vec<Indexed>,
    /// Words of the text of each passage.
    pub(super) lengths: Vec<f64>,
    /// Words of each document.
    pub(super) document_lengths: Vec<f64>,
}

/// The occurrence of a phrase in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhraseHit {
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
    /// Whether it is said in a talk.
    pub(super) is_talk: bool,
    /// Words of the text in their order.
    pub(super) text: Vec<Term>,
    /// Words of its key.
    pub(super) key: Vec<Term>,
    /// Camel-case words of the text, as one word each.
    joined: Vec<Term>,
    /// Words of headings and name.
    context: Vec<Term>,
}

impl Corpus {
    /// Indexes passages, which are in the order of their documents.
    pub(super) fn new(passages: &[Passage]) -> Self {
        let mut corpus = Self::default();
        for passage in passages {
            let (text, joined) = corpus.read(&passage.text);
            let (context, _) = corpus.read(&passage.context);
            let key = passage.key.as_deref().map(|key| corpus.read(key).0).unwrap_or_default();
            let Passage { document, section, is_talk, .. } = *passage;
            corpus.lengths.push(count(text.len()));
            corpus.document_lengths.resize(document + 1, 0.0);
            corpus.document_lengths[document] += count(text.len());
            let at = corpus.passages.len();
            for term in text.iter().chain(&joined).chain(&context) {
                let holders = &mut corpus.holders[*term as usize];
                if holders.last() != Some(&at) {
                    holders.push(at);
                }
            }
            corpus.passages.push(Indexed {
                document,
                section,
                is_talk,
                text,
                key,
                joined,
                context,
            });
        }
        corpus
    }

    /// The words of a text, and its camel-case ones as one word each.
    fn read(&mut self, text: &str) -> (Vec<Term>, Vec<Term>) {
        let (mut parts, mut joined) = (Vec::new(), Vec::new());
        each_term(text, |term, _, kind| {
            let known = self.terms.get(term).copied();
            let term = known.unwrap_or_else(|| {
                let next = Term::try_from(self.holders.len()).unwrap_or(Term::MAX);
                self.terms.insert(term.to_owned(), next);
                self.holders.push(Vec::new());
                next
            });
            if kind == TermKind::Part { &mut parts } else { &mut joined }.push(term);
            ControlFlow::Continue(())
        });
        (parts, joined)
    }

    /// The number of a word.
    pub(super) fn term(&self, word: &str) -> Option<Term> {
        self.terms.get(word).copied()
    }

    /// The passages that hold a word.
    pub(super) fn holders(&self, term: Term) -> &[usize] {
        &self.holders[term as usize]
    }

    /// Where a search phrase occurs.
    pub(super) fn find(&self, phrase: &Phrase) -> Vec<PhraseHit> {
        let Some((last, first)) = phrase.terms.split_last() else { return Vec::new() };
        let first: Option<Vec<Term>> = first.iter().map(|word| self.term(word)).collect();
        let Some(first) = first else { return Vec::new() };
        let lasts = if phrase.is_prefix {
            self.words(|word| word.starts_with(&**last))
        } else {
            self.term(last).into_iter().collect()
        };
        self.places(&first, &lasts)
    }

    /// Where words stand with which an unknown one begins, or that begin with it.
    pub(super) fn akin(&self, word: &str) -> Vec<PhraseHit> {
        let letters = word.chars().count();
        if letters < BEGINNING || !word.chars().all(char::is_alphabetic) {
            return Vec::new();
        }
        let words = self.words(|other| {
            let others = other.chars().count();
            (others >= BEGINNING && word.starts_with(other))
                || (others <= letters + BEYOND && other.starts_with(word))
        });
        self.places(&[], &words)
    }

    fn words(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Term> {
        let words = self.terms.iter().filter(|(word, _)| is_meant(word));
        words.map(|(_, term)| *term).collect()
    }

    /// The places of words in a row: these first, then one of the last ones.
    fn places(&self, first: &[Term], lasts: &[Term]) -> Vec<PhraseHit> {
        let anchors = if first.is_empty() { lasts } else { &first[..1] };
        let mut at: Vec<usize> =
            anchors.iter().flat_map(|term| &self.holders[*term as usize]).copied().collect();
        at.sort_unstable();
        at.dedup();
        let runs = |words: &[Term]| {
            let runs = words.windows(first.len() + 1).filter(|run| {
                run.split_last().is_some_and(|(end, start)| lasts.contains(end) && start == first)
            });
            u32::try_from(runs.count()).unwrap_or(u32::MAX)
        };
        let places = at.into_iter().map(|passage| {
            let Indexed { document, text, joined, context, .. } = &self.passages[passage];
            let joined = if first.is_empty() { runs(joined) } else { 0 };
            PhraseHit {
                passage,
                document: *document,
                in_text: runs(text).saturating_add(joined),
                in_context: runs(context) > 0,
            }
        });
        places.filter(|place| place.in_text > 0 || place.in_context).collect()
    }
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "counts of words and passages are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
