//! Full-text search: what is indexed of an object, how a search is parsed, what a hit shows. No storage: backends
//! keep the index, which can always be made anew.

mod blob;
mod expression;
mod query;
mod ranking;
mod results;
mod snippet;
mod terms;
mod texts;

pub use expression::Expression;
pub use expression::{Phrase, Unit, is_stop_word};
pub use query::{Found, FoundIn, FoundRows, SearchFilter, SearchIndex};
pub use ranking::inverse_frequency;
pub(super) use ranking::{Ranking, WEIGHTS};
pub use results::{SearchHit, SearchQuery, SearchResults};
pub use snippet::SnippetLine;
pub use snippet::snippet;
pub use terms::{TermKind, each_term, stem};
pub(super) use texts::{Columns, Searched, session_of};
