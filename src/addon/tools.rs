//! The tool factories.

use std::sync::Arc;

use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi_derive::napi;
use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking};
use super::session::Session;
use crate::tools::Tool;

/// A tool to offer to the model.
#[napi]
pub struct ContextTool {
    core: Tool,
}

/// A block of text.
#[napi(object)]
pub struct TextBlock {
    /// Always `text`.
    #[napi(js_name = "type", ts_type = "\"text\"")]
    pub kind: String,
    /// The text.
    pub text: String,
}

/// What a tool answers.
#[napi(object)]
pub struct ToolResult {
    /// Blocks for the model.
    pub content: Vec<TextBlock>,
}

/// `read`: text files by path, with `offset` and `limit`; the limits and notices of Pi's tool. No images.
#[napi(catch_unwind)]
pub fn create_read_tool() -> ContextTool {
    ContextTool { core: Tool::Read }
}

/// `activate`: shows content that a reference line stands for; whole, by lines or by a pattern.
#[napi(catch_unwind)]
pub fn create_activate_tool() -> ContextTool {
    ContextTool { core: Tool::Activate }
}

/// `deactivate`: lets content go at the next epoch.
#[napi(catch_unwind)]
pub fn create_deactivate_tool() -> ContextTool {
    ContextTool { core: Tool::Deactivate }
}

/// `pin`: activates content and exempts it from collapse.
#[napi(catch_unwind)]
pub fn create_pin_tool() -> ContextTool {
    ContextTool { core: Tool::Pin }
}

/// `unpin`: takes the exemption away.
#[napi(catch_unwind)]
pub fn create_unpin_tool() -> ContextTool {
    ContextTool { core: Tool::Unpin }
}

#[napi]
impl ContextTool {
    /// Name under which the model calls it.
    #[napi(getter)]
    pub fn name(&self) -> String {
        self.core.name().to_owned()
    }

    /// What the model is told of it.
    #[napi(getter)]
    pub fn description(&self) -> String {
        self.core.description().to_owned()
    }

    /// One line for a list of tools in the system prompt.
    #[napi(getter)]
    pub fn prompt_snippet(&self) -> String {
        self.core.prompt_snippet().to_owned()
    }

    /// JSON schema of the arguments.
    #[napi(getter, ts_return_type = "ToolSchema")]
    pub fn parameters(&self) -> Value {
        self.core.parameters()
    }

    /// Executes a call in a session. What goes wrong rejects, with a message for the model: `UNKNOWN_NAME`,
    /// `AMBIGUOUS_NAME`, `NO_ROOM`, `NOT_ACTIVATABLE`, `INVALID_ARGUMENT`, `FILE`.
    #[napi(
        ts_args_type = "session: Session, toolCallId: string, args: unknown",
        ts_return_type = "Promise<ToolResult>"
    )]
    pub fn execute(
        &self,
        session: Given<ClassInstance<'_, Session>>,
        tool_call_id: Given<String>,
        args: Given<Json>,
    ) -> AsyncTask<Blocking<ToolResult>> {
        let tool = self.core;
        let shared = session.named("session").map(|session| Arc::clone(&session.shared));
        blocking(move || {
            let (call, args) = (tool_call_id.named("toolCallId")?, args.named("args")?.0);
            let text = shared?.with(|session| tool.execute(session, &call, &args))?;
            Ok(ToolResult { content: vec![TextBlock { kind: "text".to_owned(), text }] })
        })
    }
}
