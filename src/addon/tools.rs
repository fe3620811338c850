//! The model's tools: their definitions, and executing a call.

use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::Value;

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking};
use super::session::Session;
use base::error::{Error, Result};
use live::model_tools::Tool;

/// What a model is told of a tool.
#[napi(object)]
pub struct ToolDefinition {
    /// Name under which the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// One line for a list of tools in the system prompt; absent where the description says as much.
    pub prompt_snippet: Option<String>,
    /// Rules for the system prompt, one line each. They name the tool, and belong there while it is offered.
    pub prompt_guidelines: Vec<String>,
    /// JSON schema of the arguments.
    #[napi(ts_type = "ToolSchema")]
    pub parameters: Value,
}

/// Lists the tools. `index.d.ts` has another `tools`, which wraps this one.
#[napi(catch_unwind)]
pub fn tools(prefixed: bool) -> Vec<ToolDefinition> {
    Tool::ALL.into_iter().map(|tool| definition(tool, prefixed)).collect()
}

#[napi]
impl Session {
    /// See `ContextTool.execute` of `index.d.ts`; resolves to its answer, as JSON.
    #[napi(
        ts_args_type = "tool: string, toolCallId: string, args: unknown",
        ts_return_type = "Promise<string>"
    )]
    pub fn execute_tool(
        &self,
        tool: Given<String>,
        tool_call_id: Given<String>,
        args: Given<Json>,
    ) -> AsyncTask<Blocking<String>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let tool = named(&tool.named("tool")?)?;
            let (call, args) = (tool_call_id.named("toolCallId")?, args.named("args")?.0);
            shared.with(move |session| tool.execute(session, &call, &args)).map(|answer| {
                let (content, tokens) = (answer.content(), answer.tokens());
                format!(r#"{{"content":{content},"tokens":{tokens}}}"#)
            })
        })
    }
}

fn definition(tool: Tool, prefixed: bool) -> ToolDefinition {
    ToolDefinition {
        name: tool.called(prefixed),
        description: tool.description().to_owned(),
        prompt_snippet: tool.prompt_snippet().map(str::to_owned),
        prompt_guidelines: tool.prompt_guidelines(prefixed),
        parameters: tool.parameters(),
    }
}

fn named(name: &str) -> Result<Tool> {
    Tool::by_name(name).ok_or_else(|| Error::argument("tool", format!("`{name}` is no tool")))
}
