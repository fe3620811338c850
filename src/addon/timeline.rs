//! A session over time: `Store.timeline`.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::Given;
use super::blocking::{Answer, OnWorker, Promised};
use super::store::Store;

#[napi]
impl Store {
    /// A session over time: its calls, what happened between them, and how each object was shown.
    ///
    /// `session`: as in `findSession`. Rejects as that.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<Timeline>")]
    pub fn timeline(&self, session: Given<String>) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = live::find_session(store, &session.named("session")?)?;
            let timeline = live::timeline(store, &session)?;
            Ok(json!({
                "sessionId": session,
                "calls": timeline.calls.iter().map(call).collect::<Vec<_>>(),
                "marks": timeline.marks,
                "objects": timeline.objects,
            }))
        })
    }
}

fn call(call: &live::CallPoint) -> Value {
    let record = call.record.as_ref();
    json!({
        "number": call.number,
        "retryOf": record.and_then(|record| record.retry_of),
        "failedOpen": call.failed_open,
        "time": record.map(|record| record.time.to_string()),
        "model": record.and_then(|record| record.model.as_ref()),
        "layout": record.map(|record| &record.layout),
        "epoch": record.map(|record| record.epoch),
        "contextWindow": record.and_then(|record| record.context_window),
        "sentTokens": record.map(|record| record.sent_tokens),
        "plainTokens": record.map(|record| record.plain_tokens),
        "kinds": record.map(|_| call.kinds),
        "messages": record.map(|_| call.messages),
    })
}
