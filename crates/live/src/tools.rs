//! What the context tools and the help around `write` and `edit` do to a session: `activate`, `deactivate`, `pin`, `unpin`,
//! the refusal of a write, the help for a failed edit, and the names by which objects are called.
//!
//! Must not commit: what a tool did is recorded in the journal. Texts for the model that are not content are in
//! `context::forms`.

mod activation;
mod confined;
mod edit_help;
mod guard;
mod names;
mod overwritten;
mod room;
mod segments;
mod steps;
mod textless;

pub use self::activation::Wanted;
pub(super) use self::guard::Guard;
use super::OpenSession;
use super::journal::Journal;
use super::request::Request;
use super::workspace::Workspace;

/// What the tools work on.
pub(super) struct Tools<'a> {
    /// State and versions.
    pub(super) journal: &'a mut Journal,
    /// The files that a name or a path leads to.
    pub(super) workspace: &'a mut Workspace,
    /// What stands in the window.
    pub(super) request: &'a Request,
    /// Settings and counter.
    pub(super) options: &'a OpenSession,
}
