//! Which calls need a message, so that it should not leave before them. Pure.

use std::collections::{HashMap, HashSet};

use super::message::{MeasuredMessage, Speaker};
use super::needs::TranscriptNeeds;
use context::deeds;

/// The calls that need each message. The message is an output with lines that neither the model nor
/// a person had written before, or an answer whose words would be lost with its step because
/// neither the fold line nor a person's message holds them.
///
/// `shown_again`: whether such words are also a need of the latest output that shows them after
/// that. One of the two is enough, but neither can tell whether the other will stand.
pub fn needed(messages: &[MeasuredMessage], shown_again: bool) -> HashMap<usize, Vec<usize>> {
    let needs = TranscriptNeeds::find(messages);
    let mut by_person: HashSet<usize> = HashSet::new();
    let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut calls = needs.calls.iter().enumerate();
    for message in messages {
        match message.speaker() {
            Speaker::Other => by_person.extend(message.lines().filter_map(|line| needs.line(line))),
            Speaker::Tool => {}
            Speaker::Assistant => {
                let Some((call, of_call)) = calls.next() else { break };
                for need in of_call {
                    let text = &needs.lines[need.line].text;
                    if by_person.contains(&need.line) {
                        continue;
                    }
                    let is_kept = need.said && is_in_line(&messages[need.source], text);
                    let again = need.shown_again.filter(|_| shown_again);
                    for at in (!is_kept).then_some(need.source).into_iter().chain(again) {
                        let needing = found.entry(at).or_default();
                        if needing.last() != Some(&call) {
                            needing.push(call);
                        }
                    }
                }
            }
        }
    }
    found
}

/// Whether a step's fold line would show this line of its answer.
fn is_in_line(answer: &MeasuredMessage, line: &str) -> bool {
    answer.calls.iter().any(|call| deeds::brief(&call.tool, &call.args).contains(line))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use context::tokens::Counter;

    const LINE: &str = "fn parse(input: &str) -> Result<Vec<Token>> {";

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    fn step(args: &Value) -> [Value; 2] {
        let call = json!({ "type": "toolCall", "id": "c", "name": "edit", "arguments": args });
        [json!({ "role": "assistant", "content": [call] }), result("ok")]
    }

    fn result(text: &str) -> Value {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "edit", "content": content })
    }

    fn said(text: &str) -> Value {
        json!({ "role": "assistant", "content": text })
    }

    /// Which messages are needed, and by which calls.
    fn needs(messages: &[Value], shown_again: bool) -> Vec<(usize, Vec<usize>)> {
        let parse = |value: &Value| MeasuredMessage::parse(&value.to_string(), Counter::Characters);
        let messages: Vec<MeasuredMessage> = messages.iter().map(parse).collect();
        let mut found: Vec<_> = needed(&messages, shown_again).into_iter().collect();
        found.retain(|(_, calls)| !calls.is_empty());
        found.sort();
        found
    }

    #[test]
    fn code_that_the_model_wrote_and_writes_again_is_needed() {
        let [wrote, done] = step(&json!({ "path": "a.rs", "newText": format!("{LINE}\n}}") }));
        let messages = [user("Go."), wrote, done, said("x"), said(LINE)];
        assert_eq!(needs(&messages, false), [(1, vec![2])]);
    }

    #[test]
    fn words_that_the_fold_line_shows_are_not_needed() {
        let [ran, done] = step(&json!({ "command": format!("grep '{LINE}' a.rs") }));
        let again = ran.clone();
        assert_eq!(needs(&[user("Go."), ran, done, again], false), []);
    }

    #[test]
    fn words_that_a_person_wrote_too_are_not_needed() {
        let [wrote, done] = step(&json!({ "newText": format!("{LINE}\n}}") }));
        assert_eq!(needs(&[user(LINE), wrote, done, said(LINE)], false), []);
        let [wrote, done] = step(&json!({ "newText": format!("{LINE}\n}}") }));
        assert_eq!(needs(&[wrote, done, user(LINE), said(LINE)], false), []);
    }

    #[test]
    fn an_output_is_needed_until_its_line_is_said() {
        let [asked, _] = step(&json!({ "path": "a.rs" }));
        let messages = [user("Go."), asked, result(LINE), said(LINE), said(LINE)];
        assert_eq!(needs(&messages, false), [(2, vec![1]), (3, vec![2])]);
    }

    #[test]
    fn words_that_an_output_shows_again_are_a_need_of_it_too() {
        let [wrote, done] = step(&json!({ "newText": format!("{LINE}\n}}") }));
        let messages = [user("Go."), wrote, done, said("x"), result(LINE), said(LINE)];
        assert_eq!(needs(&messages, false), [(1, vec![2])]);
        assert_eq!(needs(&messages, true), [(1, vec![2]), (4, vec![2])]);
    }
}
