//! Tells responses apart where a gateway gave all of them one ID, or none. Must not decide which
//! lines are read.

use std::collections::HashMap;

use serde_json::Value;

use super::blocks::usage_of;
use super::{answered_by, chain, content_of, is_by_model, response_of};
use crate::transcript::lines::Line;

/// A response that later lines may continue.
struct Response {
    id: String,
    /// Tokens that the provider counted in its request.
    input: Option<[Value; 3]>,
    /// Whether a call of it has its result, or of one without an ID, whether anything came behind it.
    is_answered: bool,
}

/// Gives each response an ID of its own. A line with the ID of an earlier response belongs to it,
/// even behind the result of its first call, unless the provider counted another request there.
pub(super) fn tell_apart(entries: &mut [Line<'_>]) {
    let mut open: HashMap<String, Response> = HashMap::new();
    let mut given_of: HashMap<String, String> = HashMap::new();
    for line in entries {
        for call in content_of(line).filter_map(answered_by) {
            if let Some(response) = given_of.get(call).and_then(|given| open.get_mut(given)) {
                response.is_answered = true;
            }
        }
        if line.text_at("type") == Some("user")
            && let Some(unnamed) = open.get_mut("")
        {
            unnamed.is_answered = true;
        }
        if !is_by_model(line) {
            continue;
        }
        let given = response_of(line).unwrap_or_default().to_owned();
        let input = input_of(line);
        let before = open.get(&given);
        let goes_on = before.is_some_and(|before| {
            let (is_alike, is_same) = (before.input == input, !before.is_answered);
            if given.is_empty() { is_alike && is_same } else { is_alike || is_same }
        });
        if !goes_on {
            let is_own = before.is_none() && !given.is_empty();
            let id = if is_own { given.clone() } else { format!("{given}#{}", line.number) };
            open.insert(given.clone(), Response { id, input, is_answered: false });
        }
        given_of.extend(chain::calls_of(line).map(|call| (call.to_owned(), given.clone())));
        let id = Value::from(open[&given].id.as_str());
        if let Some(Value::Object(message)) = line.object.get_mut("message") {
            message.insert("id".to_owned(), id);
        }
    }
}

fn input_of(line: &Line<'_>) -> Option<[Value; 3]> {
    let counts = line.object_at("message")?.get("usage").filter(|counts| counts.is_object())?;
    let usage = usage_of(counts);
    Some(["input", "cacheRead", "cacheWrite"].map(|key| usage[key].clone()))
}
