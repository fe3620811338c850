//! For a host that runs its turns itself: the results that it shows, and the end of a turn; also
//! continuing another session. Must not decide anything.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Json};
use super::blocking::{Answer, Promised};
use super::crossing::{Crossed, host_list, in_json};
use super::session::Session;
use base::object::ObjectId;
use live::RunningShown;

/// The result of a tool call that the host is about to add to its list.
#[napi(object, object_to_js = false)]
pub struct NewToolResult {
    /// The ID of the call, as in the list.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Arguments as the tool ran with them.
    #[napi(ts_type = "unknown")]
    pub args: Json,
    /// Whether it failed.
    pub is_error: bool,
    /// What the tool answered: a text, or blocks.
    #[napi(ts_type = "string | { type: string; [field: string]: unknown }[]")]
    pub content: Json,
    /// The host's details of the result.
    #[napi(ts_type = "unknown")]
    pub details: Option<Json>,
}

impl NewToolResult {
    /// The future message of the result, JSON.
    fn message(&self) -> Value {
        json!({
            "role": "toolResult",
            "toolCallId": self.tool_call_id,
            "toolName": self.tool_name,
            "content": self.content.0,
            "isError": self.is_error,
            "details": self.details.as_ref().map(|Json(details)| details),
        })
    }
}

#[napi]
impl Session {
    /// Sends the messages of a list that are new and a result that comes behind them; resolves to `{ content }`, as JSON, null to show
    /// it as it is, or to `{ resend: true }`, after which the whole list has to be sent. `since`, `skip`, `messages`: as for
    /// `transform`.
    #[napi(
        ts_args_type = "since: number | undefined | null, skip: number, messages: Array<string | Array<string>>, result: NewToolResult",
        ts_return_type = "Promise<string>"
    )]
    pub fn show_result(
        &self,
        since: Option<i64>,
        skip: u32,
        messages: Vec<Crossed>,
        result: Given<NewToolResult>,
    ) -> Promised<String> {
        self.with(move |session| {
            let result = result.named("result")?;
            let message = result.message().to_string();
            let list = host_list(since, skip, messages);
            session.show_result(list, result.args.0, message).map(|shown| match shown {
                RunningShown::Resend => r#"{"resend":true}"#.to_owned(),
                RunningShown::Content(content) => {
                    format!(r#"{{"content":{}}}"#, content.as_deref().unwrap_or("null"))
                }
            })
        })
    }

    /// See `Session.continueFrom` of `index.d.ts`.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<Continuation>")]
    pub fn continue_from(&self, session_id: Given<String>) -> Promised<Answer> {
        self.answer(move |session| {
            session.continue_from(&ObjectId::new(session_id.named("session")?))
        })
    }

    /// See `Session.commitTurn` of `index.d.ts`. `messages`: as for `transform`.
    #[napi(
        ts_args_type = "key: string, messages: Array<string | Array<string>>",
        ts_return_type = "Promise<\"committed\" | \"duplicate\">"
    )]
    pub fn commit_turn(&self, key: Given<String>, messages: Vec<Crossed>) -> Promised<Answer> {
        self.answer(move |session| session.commit_turn(&key.named("key")?, in_json(messages)))
    }
}
