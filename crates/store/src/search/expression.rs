//! Parses a search into units of terms. Every text that contains a word is a valid search. Pure;
//! must not know a store.
//!
//! Each word is a unit; `"quoted words"` are a phrase; `-word` and `-"a phrase"` exclude; `prefix*`
//! matches the beginning of a word. An identifier or path is one unit: the phrase of its parts.

use std::ops::{ControlFlow, Range};

use super::terms::{TermKind, each_term, folded, is_spaceless, is_word_character, stem};
use base::error::{Error, Result};

/// Most units of a search; further words are ignored.
pub const MAX_UNITS: usize = 64;

/// Longest run of a script without spaces that counts as one word, in characters; longer runs count
/// as several.
const SPACELESS_WORD: usize = 4;

/// English function words, searched for only if there is no other word.
const STOP_WORDS: &str = " a about am an and any are as at be been being but by can could did do does doing for from had \
    has have having he her hers him his how i if in into is it its me my of on or our ours she should so some such than \
    that the their theirs them then there these they this those to was we were what when where which while who whom whose \
    why will with would you your yours ";

/// Endings that stemming removes: with these a prefix such as `configurat*` finds what is indexed
/// as `configur`.
const ENDINGS: [&str; 14] =
    ["", "e", "y", "s", "es", "ed", "ing", "ion", "ions", "al", "ive", "ment", "ly", "ness"];

/// Characters that join identifiers, paths and words.
const JOINING: &str = "_-./\\:#@$'’~+%&*";

/// A parsed search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Units of which at least one must occur; 1 to 64.
    pub wanted: Vec<SearchUnit>,
    /// Units that must not occur.
    pub excluded: Vec<SearchUnit>,
    /// Wanted identifiers and paths of several parts as they were typed, at most 64.
    pub typed: Vec<String>,
    /// Whether all wanted ones are function words, such as every question has.
    pub has_only_function_words: bool,
}

/// A word, phrase, identifier or prefix. It occurs where any of its phrases does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchUnit {
    /// The phrases.
    pub phrases: Vec<Phrase>,
}

/// Consecutive terms. In a prefix, the last one is only the beginning of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// The terms, in order.
    pub terms: Vec<String>,
    /// Whether the last term is a beginning.
    pub is_prefix: bool,
}

impl Expression {
    /// Parses the user's query.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it has no word to search for.
    pub fn parse(query: &str) -> Result<Self> {
        let mut wanted: Vec<(SearchUnit, bool)> = Vec::new();
        let mut excluded = Vec::new();
        let mut typed = Vec::new();
        for piece in pieces(query) {
            if !piece.quoted && !piece.excluded {
                typed.extend(identifiers(piece.text).map(str::to_owned));
            }
            let is_stop_word = !piece.quoted && is_stop_word(piece.text);
            let units =
                if piece.quoted { quoted_units(piece.text) } else { plain_units(piece.text) };
            for unit in units {
                if piece.excluded {
                    excluded.push(unit);
                } else if wanted.iter().all(|(known, _)| *known != unit) {
                    wanted.push((unit, is_stop_word));
                }
            }
        }
        let has_only_function_words = wanted.iter().all(|(_, is_stop_word)| *is_stop_word);
        if !has_only_function_words {
            wanted.retain(|(_, is_stop_word)| !is_stop_word);
        }
        if wanted.is_empty() {
            return Err(Error::argument("query", "holds no word to search for"));
        }
        let wanted = wanted.into_iter().map(|(unit, _)| unit).take(MAX_UNITS).collect();
        excluded.truncate(MAX_UNITS);
        typed.truncate(MAX_UNITS);
        Ok(Self { wanted, excluded, typed, has_only_function_words })
    }
}

impl Phrase {
    fn new(terms: Vec<String>) -> Self {
        Self { terms, is_prefix: false }
    }

    /// Whether this phrase ends with the term at a place, of terms and where they start.
    pub(super) fn ends_at(&self, terms: &[(String, usize)], at: usize) -> bool {
        let last = self.terms.len() - 1;
        let Some(start) = at.checked_sub(last) else { return false };
        let pairs = terms[start..=at].iter().zip(&self.terms).enumerate();
        pairs.into_iter().all(|(place, ((found, _), wanted))| {
            found == wanted || (self.is_prefix && place == last && found.starts_with(&**wanted))
        })
    }
}

/// A run of the query between spaces, or text in quotes.
struct Piece<'a> {
    text: &'a str,
    quoted: bool,
    excluded: bool,
}

fn pieces(query: &str) -> Vec<Piece<'_>> {
    const QUOTES: [char; 4] = ['"', '“', '”', '„'];
    let mut pieces = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        // `--flag` and a lone dash exclude nothing.
        let behind = rest.strip_prefix('-').filter(|behind| {
            behind.starts_with(|next: char| next.is_alphanumeric() || QUOTES.contains(&next))
        });
        let (excluded, start) = (behind.is_some(), behind.unwrap_or(rest));
        let inside = start.strip_prefix(QUOTES);
        let (text, after) = if let Some(inside) = inside {
            let end = inside.find(QUOTES).unwrap_or(inside.len());
            (&inside[..end], inside[end..].trim_start_matches(QUOTES))
        } else {
            let stop = |next: char| next.is_whitespace() || QUOTES.contains(&next);
            start.split_at(start.find(stop).unwrap_or(start.len()))
        };
        let quoted = inside.is_some();
        pieces.push(Piece { text, quoted, excluded });
        rest = after.trim_start();
    }
    pieces
}

fn is_stop_word(text: &str) -> bool {
    let word = text.trim_matches(|character: char| !character.is_alphanumeric());
    let word = word.to_lowercase();
    let is_known = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_lowercase())
            && STOP_WORDS.contains(&format!(" {word} "))
    };
    let (stem, ending) = word.split_once(['\'', '’']).unwrap_or((&word, ""));
    is_known(stem) || (ending == "t" && stem.strip_suffix('n').is_some_and(is_known))
}

/// A term of the query and its byte range in the piece.
type Placed = (String, Range<usize>, TermKind);

fn terms(text: &str) -> Vec<Placed> {
    let mut terms = Vec::new();
    each_term(text, |term, at, kind| {
        terms.push((term.to_owned(), at, kind));
        if terms.len() < 1_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    terms
}

/// One phrase from all quoted words.
fn quoted_units(text: &str) -> Vec<SearchUnit> {
    let parts = terms(text).into_iter().filter(|term| term.2 == TermKind::Part);
    whole_phrase(parts.map(|term| term.0).collect()).into_iter().collect()
}

/// A phrase of terms as they occur in a text. If its last character stands alone, others may follow
/// it there.
fn whole_phrase(mut terms: Vec<String>) -> Option<SearchUnit> {
    let open_end = terms.last().is_some_and(|last| last.chars().all(is_spaceless));
    if open_end && terms.len() > 1 && terms[terms.len() - 2].chars().all(is_spaceless) {
        terms.pop();
        return Some(SearchUnit { phrases: vec![Phrase::new(terms)] });
    }
    let is_empty = terms.is_empty();
    (!is_empty).then(|| SearchUnit { phrases: vec![Phrase { is_prefix: open_end, terms }] })
}

/// The units of a run without spaces: its identifiers and paths.
fn plain_units(text: &str) -> Vec<SearchUnit> {
    text.split(is_break).flat_map(identifier_units).collect()
}

/// The identifiers and paths of several parts in a run without spaces.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let words =
        text.split(is_break).map(|word| word.trim_matches(|end: char| !is_word_character(end)));
    let is_part = |term: &&Placed| term.2 == TermKind::Part;
    words.filter(move |word| terms(word).iter().filter(is_part).count() > 1)
}

/// Whether a character joins nothing.
fn is_break(character: char) -> bool {
    !is_word_character(character) && !JOINING.contains(character)
}

fn identifier_units(text: &str) -> Vec<SearchUnit> {
    let is_prefix = text.ends_with('*');
    let terms = terms(text);
    let is_spaceless = |term: &Placed| term.0.chars().all(is_spaceless);
    let parts: Vec<Placed> =
        terms.iter().filter(|term| term.2 == TermKind::Part).cloned().collect();
    let mut units = Vec::new();
    for group in parts.chunk_by(|one, next| is_spaceless(one) == is_spaceless(next)) {
        if is_spaceless(&group[0]) {
            units.extend(spaceless_units(group));
            continue;
        }
        let mut phrases = vec![Phrase::new(group.iter().map(|term| term.0.clone()).collect())];
        // The identifier written without its capitals.
        let whole = group[0].1.start..group[group.len() - 1].1.end;
        let joined = terms.iter().find(|term| term.2 == TermKind::Joined && term.1 == whole);
        phrases.extend(joined.map(|term| Phrase::new(vec![term.0.clone()])));
        units.push(SearchUnit { phrases });
    }
    let last = terms.iter().rfind(|term| term.2 == TermKind::Part).filter(|_| is_prefix);
    if let (Some(last), Some(unit)) = (last, units.last_mut()) {
        open(unit, &folded(&text[last.1.clone()]));
    }
    units
}

/// Turns the last term of a unit into a prefix, which is not stemmed.
fn open(unit: &mut SearchUnit, beginning: &str) {
    let phrases = &mut unit.phrases;
    let Some(phrase) = phrases.first_mut() else { return };
    let Some(last) = phrase.terms.last_mut() else { return };
    if beginning.chars().all(is_spaceless) {
        return;
    }
    beginning.clone_into(last);
    phrase.is_prefix = true;
    let is_word = phrase.terms.len() == 1;
    phrases.truncate(1);
    if !is_word {
        return;
    }
    let mut stems: Vec<String> = ENDINGS
        .iter()
        .map(|ending| stem(&format!("{beginning}{ending}")))
        .filter(|stem| !stem.starts_with(beginning))
        .collect();
    stems.sort_unstable();
    stems.dedup();
    phrases.extend(stems.into_iter().map(|stem| Phrase::new(vec![stem])));
}

/// A run of a script without spaces: a short one is a word, in a long one each pair is a unit.
fn spaceless_units(group: &[Placed]) -> Vec<SearchUnit> {
    if group.len() <= SPACELESS_WORD {
        let whole = whole_phrase(group.iter().map(|term| term.0.clone()).collect());
        return whole.into_iter().collect();
    }
    let unit = |term: &Placed| SearchUnit { phrases: vec![Phrase::new(vec![term.0.clone()])] };
    group[..group.len() - 1].iter().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Units as text: phrases in bars, alternatives joined by `|`, prefixes with `*`, excluded
    /// units after `-`.
    fn shown(query: &str) -> String {
        let expression = Expression::parse(query).unwrap();
        let unit = |unit: &SearchUnit| {
            let phrase = |phrase: &Phrase| {
                format!("{}{}", phrase.terms.join("+"), if phrase.is_prefix { "*" } else { "" })
            };
            unit.phrases.iter().map(phrase).collect::<Vec<_>>().join("|")
        };
        let wanted = expression.wanted.iter().map(unit);
        let excluded = expression.excluded.iter().map(|found| format!("-{}", unit(found)));
        wanted.chain(excluded).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_wanted_each_for_itself() {
        assert_eq!(shown("Stores  versions, objects"), "store version object");
        assert_eq!(shown("error(s): not found!"), "error s not found");
        assert_eq!(shown("twice Twice TWICE"), "twice");
    }

    #[test]
    fn identifiers_and_paths_are_phrases_of_their_parts() {
        assert_eq!(shown("transformContext"), "transform+context|transformcontext");
        assert_eq!(shown("tool_call_id"), "tool+call+id");
        assert_eq!(shown("src/store/sqlite.rs"), "src+store+sqlite+rs");
        assert_eq!(shown("Store::open(path)"), "store+open path");
        assert_eq!(shown("HTTPServer2"), "http+server+2|httpserver2");
    }

    #[test]
    fn what_has_several_parts_is_known_as_it_was_typed() {
        let query = "why (get_user) in src/Store.rs, -no_one \"not this_one\" getAll* don't open";
        let typed = Expression::parse(query).unwrap().typed;
        assert_eq!(typed, ["get_user", "src/Store.rs", "getAll"]);
    }

    #[test]
    fn quotes_make_phrases_and_need_no_end() {
        assert_eq!(shown(r#""the store is" busy"#), "the+store+is busi");
        assert_eq!(shown(r#"busy "the store"#), "busi the+store");
        assert_eq!(shown("„drei Worte hier“"), "drei+wort+here".replace("here", "hier"));
    }

    #[test]
    fn a_dash_excludes_and_flags_do_not() {
        assert_eq!(shown(r#"store -busy -"a phrase""#), "store -busi -a+phrase");
        assert_eq!(shown("cargo --locked - test"), "cargo lock test");
        assert_eq!(shown("well-known"), "well+known");
    }

    #[test]
    fn a_star_makes_a_prefix_that_also_finds_stems() {
        assert_eq!(shown("trans*"), "trans*|tran");
        assert_eq!(shown("configurat*"), "configurat*|configur");
        assert_eq!(shown("transformCon*"), "transform+con*");
    }

    #[test]
    fn function_words_count_only_where_nothing_else_is() {
        assert_eq!(shown("When did the store open?"), "store open");
        assert_eq!(shown("What's this"), "what this");
        assert_eq!(shown(r#""the" store"#), "the store");
        assert_eq!(shown("why doesn't it open, and can't"), "open");
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(shown("数据"), "数据");
        assert_eq!(shown("数据库"), "数据+据库");
        assert_eq!(shown("库"), "库*");
        assert_eq!(shown("全文検索エンジン"), "全文 文検 検索 索エ エン ンジ ジン");
        assert_eq!(shown("\"全文検索エンジン\""), "全文+文検+検索+索エ+エン+ンジ+ジン");
        assert_eq!(shown("SQLite数据库"), "sq+lite|sqlite 数据+据库");
    }

    #[test]
    fn a_search_without_a_word_is_refused() {
        for query in ["", "  ", "\"\"", "-", "--", "* ?", "-only", "\"", "-\"a b\""] {
            let error = Expression::parse(query).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT", "{query:?}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn any_text_is_a_search_or_refused(query in "(?s).{0,40}|[-\"*a-cA-C 日本_./]{0,30}") {
            if let Ok(Expression { wanted, excluded, .. }) = Expression::parse(&query) {
                prop_assert!(!wanted.is_empty() && wanted.len() <= MAX_UNITS);
                for unit in wanted.iter().chain(&excluded) {
                    prop_assert!(!unit.phrases.is_empty());
                    for phrase in &unit.phrases {
                        prop_assert!(!phrase.terms.is_empty());
                        for term in &phrase.terms {
                            prop_assert!(!term.is_empty());
                            prop_assert!(term.chars().all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit()), "{term:?}");
                        }
                    }
                }
            }
        }
    }
}
