//! What the context tools and the help around `write` and `edit` do to a session: `activate`,
//! `deactivate`, `pin`, `unpin`, the refusal of a write, the help for a failed edit, and the names
//! by which objects are called.
//!
//! Must not commit: results are recorded in the journal. Texts for the model that are not content
//! are in `context::forms`.

mod activation;
mod confined;
mod edit_help;
mod guard;
mod names;
mod naming;
mod outputs;
mod overwritten;
mod room;
mod segments;
mod selection;
mod steps;
mod textless;

pub use self::activation::Wanted;
