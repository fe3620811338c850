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
pub(super) use self::guard::Guard;
use super::OpenSession;
use super::journal::Journal;
use super::request::Request;
use super::workspace::Workspace;

/// The parts of a session on which the tools work.
pub(super) struct Tools<'a> {
    /// State and versions.
    pub(super) journal: &'a mut Journal,
    /// The files to which a name or a path leads.
    pub(super) workspace: &'a mut Workspace,
    /// The messages that stand in the window.
    pub(super) request: &'a Request,
    /// Settings and counter.
    pub(super) options: &'a OpenSession,
}
