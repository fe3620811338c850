//! Full-text search: which parts of an object are indexed, how a search is parsed, what a hit
//! shows. No storage: backends keep the index, which can always be rebuilt.

mod blob;
mod expression;
mod query;
mod ranking;
mod results;
mod snippet;
mod terms;
mod texts;

pub use expression::{Expression, MAX_UNITS};
pub use expression::{Phrase, SearchUnit};
pub use query::{FoundIn, FoundRows, FoundText, SearchFilter};
pub(super) use ranking::WEIGHTS;
pub use ranking::{Ranking, inverse_frequency, term_frequency};
pub use results::{SearchHit, SearchQuery, SearchResults};
pub use snippet::{SnippetLine, snippet};
pub use terms::{TermKind, each_term};
pub use texts::session_of;
pub(super) use texts::{Columns, Searched};
