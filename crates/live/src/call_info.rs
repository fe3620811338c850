//! What a host says of a call besides its messages, and what it gets back.

use serde_json::Value;

use super::Notice;
use context::prices::ModelData;

/// What the host says of a call besides its messages.
#[derive(Debug, Clone, Default)]
pub struct CallInfo {
    /// System prompt as the host will send it; without it and without tools both are as at the call before.
    pub system_prompt: Option<String>,
    /// Definitions of the active tools.
    pub tools: Value,
    /// Provider and model: `provider/id`.
    pub model: Option<String>,
    /// Tokens of the model's window.
    pub context_window: Option<u64>,
    /// What the host knows of the model's prices.
    pub model_data: Option<ModelData>,
    /// Tokens of system prompt and tools, where the host counted them; else they are counted here.
    pub fixed_tokens: Option<u64>,
    /// Index in the host's list from which it sends the messages itself, as they are, such as those of the running turn: they are
    /// counted and recorded, and nothing in them changes. What is to be noted there stands before the first as a message of ours.
    pub kept_from: Option<usize>,
    /// How many of these are ours (tools and guidance); without it as many as at the call before.
    pub overhead_tokens: Option<u64>,
}

impl CallInfo {
    /// [`Self::kept_from`], behind every list if there is none.
    pub(super) fn kept_from(&self) -> usize {
        self.kept_from.unwrap_or(usize::MAX)
    }

    /// The provider's wire format, where the host said so.
    pub(crate) fn api(&self) -> Option<&str> {
        let api = self.model_data.as_ref()?.api.as_str();
        (!api.is_empty()).then_some(api)
    }
}

/// The host's list before a call, without the messages that the caller knows to be unchanged.
#[derive(Debug, Clone, Copy)]
pub struct HostList<'a> {
    /// Number of the call whose request the caller holds, from [`Transformed::Edits`]; `None` if it holds none. Then `skip` is 0
    /// and the edits start from an empty request.
    pub since: Option<u64>,
    /// Number of messages at the front that are the same as in that call.
    pub skip: usize,
    /// The other messages, a JSON array.
    pub messages: &'a str,
}

impl<'a> HostList<'a> {
    /// A whole list, from a caller that holds no request.
    pub fn whole(messages: &'a str) -> Self {
        Self { since: None, skip: 0, messages }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transformed {
    /// How the list of slots changes, as JSON for the host's side, and what a person may want to know.
    Edits {
        /// Number of the call, which the next list names in [`HostList::since`].
        call: u64,
        /// See [`view::instructions`](context::view::instructions).
        edits: String,
        /// What happened.
        notices: Vec<Notice>,
    },
    /// The session holds another request than [`HostList::since`] names, or none: call again with the whole list.
    Resend,
}
