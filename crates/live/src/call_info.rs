//! What a host says about a call besides its messages, and the call's result.

use serde_json::Value;

use super::Notice;
use context::prices::ModelData;

/// What the host says about a call besides its messages.
#[derive(Debug, Clone, Default)]
pub struct CallInfo {
    /// System prompt as the host will send it. Without it and without tools, both are the same as
    /// at the previous call.
    pub system_prompt: Option<String>,
    /// Definitions of the active tools.
    pub tools: Value,
    /// Provider and model: `provider/id`.
    pub model: Option<String>,
    /// Tokens of the model's window.
    pub context_window: Option<u64>,
    /// What the host knows of the model's prices.
    pub model_data: Option<ModelData>,
    /// Tokens of system prompt and tools, if the host counted them; else they are counted here.
    pub fixed_tokens: Option<u64>,
    /// Index in the host's list from which it sends the messages itself, unchanged, such as those
    /// of the running turn: they are counted and recorded, and never modified. Notes due there
    /// stand before the first of them, in a message of ours.
    pub kept_from: Option<usize>,
    /// Everything that may leave does so before this call, as if the window had this many tokens.
    /// What has room is still the window's.
    pub squeeze_to: Option<u64>,
    /// How many of the fixed tokens are ours (tools and guidance); `None`: as many as at the
    /// previous call.
    pub overhead_tokens: Option<u64>,
}

impl CallInfo {
    /// [`Self::kept_from`]; past the end of every list if there is none.
    pub(super) fn kept_from(&self) -> usize {
        self.kept_from.unwrap_or(usize::MAX)
    }

    /// The provider's wire format, if the host gave it.
    pub(crate) fn api(&self) -> Option<&str> {
        let api = self.model_data.as_ref()?.api.as_str();
        (!api.is_empty()).then_some(api)
    }
}

/// The host's list before a call, without the messages that the caller knows to be unchanged.
#[derive(Debug)]
pub struct HostList {
    /// Number of the call whose request the caller holds, from [`Transformed::Edits`]; `None` if it
    /// holds none. Then `skip` is 0 and the edits start from an empty request.
    pub since: Option<u64>,
    /// Number of leading messages that are the same as in that call.
    pub skip: usize,
    /// The other messages, each as JSON. The session takes them over: one may be as large as all
    /// that it holds otherwise.
    pub messages: Vec<String>,
}

impl HostList {
    /// A whole list, from a caller that holds no request.
    pub fn whole(messages: Vec<String>) -> Self {
        Self { since: None, skip: 0, messages }
    }
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transformed {
    /// How the list of slots changes, as JSON for the host's side, and what the user may want to
    /// know.
    Edits {
        /// Number of the call; the next list names it in [`HostList::since`].
        call: u64,
        /// See [`view::instructions`](context::view::instructions).
        edits: String,
        /// What happened.
        notices: Vec<Notice>,
    },
    /// The session holds another request than [`HostList::since`] names, or none: call again with
    /// the whole list.
    Resend,
}
