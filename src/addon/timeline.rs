//! A session over time: `Store.timeline`.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::Given;
use super::blocking::{Answer, Blocking, answering};
use super::store::Store;

#[napi]
impl Store {
    /// A session over time: its calls, what happened between them, and how each object was shown.
    ///
    /// `session`: as in `findSession`. Rejects as that.
    #[napi(ts_args_type = "session: string", ts_return_type = "Promise<Timeline>")]
    pub fn timeline(&self, session: Given<String>) -> AsyncTask<Blocking<Answer>> {
        let store = self.core.clone();
        answering(move || {
            let session = live::find_session(&store, &session.named("session")?)?;
            let timeline = live::timeline(&store, &session)?;
            Ok(json!({
                "sessionId": session,
                "calls": timeline.calls.iter().map(call).collect::<Vec<_>>(),
                "marks": timeline.marks.iter().map(mark).collect::<Vec<_>>(),
                "objects": timeline.objects.iter().map(object).collect::<Vec<_>>(),
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

fn mark(mark: &live::Mark) -> Value {
    json!({
        "kind": mark.kind.as_str(),
        "call": mark.call,
        "object": mark.object,
        "text": mark.text,
    })
}

fn object(object: &live::ObjectLine) -> Value {
    let shown = object
        .shown
        .iter()
        .map(|run| json!({ "from": run.from, "to": run.to, "as": run.way.as_str() }));
    json!({
        "id": object.id,
        "handle": object.handle,
        "type": object.kind,
        "name": object.name,
        "pinned": object.is_pinned,
        "shown": shown.collect::<Vec<_>>(),
    })
}
