//! The model's tools: their definitions, and executing a call.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Json};
use super::blocking::{Answer, Promised, present};
use super::session::Session;
use base::error::{Error, Result};
use live::model_tools::Tool;

/// Lists the tools. `index.d.ts` has another `tools`, which wraps this one.
#[napi(catch_unwind, ts_return_type = "Array<ToolDefinition>")]
pub fn tools(prefixed: bool) -> Answer {
    Value::from_iter(Tool::ALL.map(|tool| definition(tool, prefixed))).into()
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
    ) -> Promised<String> {
        self.with(move |session| {
            let tool = named(&tool.named("tool")?)?;
            let (call, args) = (tool_call_id.named("toolCallId")?, args.named("args")?.0);
            let answer = tool.execute(session, &call, &args)?;
            let (content, tokens) = (answer.content(), answer.tokens());
            Ok(format!(r#"{{"content":{content},"tokens":{tokens}}}"#))
        })
    }
}

fn definition(tool: Tool, prefixed: bool) -> Value {
    present(json!({
        "name": tool.called(prefixed),
        "description": tool.description(),
        "promptSnippet": tool.prompt_snippet(),
        "promptGuidelines": tool.prompt_guidelines(prefixed),
        "parameters": tool.parameters(),
    }))
}

fn named(name: &str) -> Result<Tool> {
    Tool::by_name(name).ok_or_else(|| Error::argument("tool", format!("`{name}` is not a tool")))
}
