//! Messages of the host's list that come neither from the user, the model nor a tool: from other
//! extensions of the host, and changes of the system prompt in the middle. They stay where they
//! are, and what belongs to the newest message goes to the one before them.

use config::{PriceSetting, Settings};
use serde_json::{Value, json};

use crate::host::{Host, uncached};
use crate::shapes::text_of;

fn custom(text: &str) -> Value {
    json!({ "role": "custom", "customType": "other", "content": text, "display": true })
}

fn system(memory: &str) -> Value {
    json!({ "role": "system", "content": "", "sections": { "memory": memory } })
}

/// A turn with one output of about this many tokens; returns how many epochs began with its first
/// call, and with its second.
fn turn(host: &mut Host, name: &str, tokens: usize) -> [u32; 2] {
    let mut epoch = host.live.state().epoch();
    let mut sends = |host: &mut Host| {
        host.send();
        let before = std::mem::replace(&mut epoch, host.live.state().epoch());
        epoch - before
    };
    host.user(&format!("Question {name}."));
    host.push(custom("Mind the plan."));
    let first = sends(host);
    let lines = (0..tokens / 8).map(|line| format!("line {line} of run {name}"));
    let output = lines.collect::<Vec<_>>().join("\n");
    host.tool("bash", &json!({ "command": format!("run {name}") }), &output);
    let second = sends(host);
    host.say("Done.");
    [first, second]
}

#[test]
fn a_change_is_told_in_the_persons_message_even_if_not_last() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", "one\ntwo\n");
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.say("Read.");
    host.write_file("a.txt", "one\n2\n");
    host.user("And now?");
    host.push(system("changed"));
    host.push(custom("Mind the plan."));
    let sent = host.send();
    let [.., person, memory, plan] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(text_of(person).contains("a.txt changed on disk"), "{person}");
    assert!(text_of(person).ends_with("And now?"), "{person}");
    assert_eq!([memory, plan], [&host.messages[5], &host.messages[6]]);

    // A retry repeats it.
    assert_eq!(host.send(), sent);
    // A message that stood before is not changed.
    host.say("Fine.");
    host.write_file("a.txt", "one\n3\n");
    host.push(custom("Something happened."));
    let next = host.send();
    assert_eq!(next[..sent.len()], sent);
    assert_eq!(next.last(), host.messages.last());
}

#[test]
fn bound_thinking_starts_epochs_at_user_messages() {
    let prices = PriceSetting::Named("anthropic".into());
    // Whatever pays is done.
    let settings = Settings {
        prices,
        preview_tokens: 0,
        keep_results: 1,
        collapse_tokens: 50,
        extra_share: 1e6,
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    host.model = "anthropic/claude-opus-5".to_owned();
    host.window = 10_000_000;
    let began: Vec<_> = (0..30).map(|name| turn(&mut host, &name.to_string(), 4_000)).collect();
    assert!(began.iter().any(|[first, _]| *first > 0), "{began:?}");
    assert!(began.iter().all(|[_, second]| *second == 0), "{began:?}");
}

#[test]
fn prompt_changes_stay_in_place_when_content_leaves() {
    let prices = uncached();
    let settings = Settings {
        prices,
        keep_results: 1,
        collapse_tokens: 50,
        fault_tokens: 10_000,
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    let mut changes = Vec::new();
    for name in 0..20 {
        if name % 4 == 0 {
            host.push(system(&format!("memory of turn {name}")));
            changes.push(host.messages.last().cloned().unwrap());
        }
        turn(&mut host, &name.to_string(), 400);
    }
    host.restart();
    host.user("And?");
    let sent = host.send();
    assert!(sent.len() < host.messages.len(), "nothing folded");
    let is_change = |message: &&Value| message["role"] == "system";
    assert_eq!(sent.iter().filter(is_change).cloned().collect::<Vec<_>>(), changes);
    for message in sent.iter().filter(is_change) {
        let next = |list: &[Value]| {
            let at = list.iter().position(|other| other == message).unwrap();
            text_of(&list[at + 1])
        };
        // The person's message may carry the line of what folded behind it.
        assert!(next(&sent).contains(&next(&host.messages)));
    }
}

#[test]
fn a_change_of_the_prompt_counts_with_its_sections() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    host.send();
    host.say("Gone.");
    let before = host.live.state().chat().window_tokens;
    host.push(system(&"forty words of memory ".repeat(100)));
    host.send();
    assert!(host.live.state().chat().window_tokens - before > 300);
}
