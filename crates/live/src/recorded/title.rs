//! The title of a session: the first words that a person wrote. Must not decide what is shown to a
//! model.

use crate::journal::chat_item;
use base::error::Result;
use base::object::item::partner;
use base::object::{AsOf, ObjectType};
use context::tokens::Counter;
use store::{Store, Version};

/// Number of messages that are searched: the first is a person's, except for what a harness puts
/// before it.
const LOOKED_AT: u64 = 8;

/// Maximum number of characters of a title.
const LONGEST: usize = 60;

/// The title of the session with this document; `None` if its chat holds no such text, or no longer
/// does.
pub(super) fn of(store: &Store, session: &Version) -> Result<Option<String>> {
    let Some(chat) = partner(ObjectType::Session, &session.fields) else { return Ok(None) };
    let Some(version) = store.get(&chat, AsOf::Latest)? else { return Ok(None) };
    let first = 0..version.item_count.min(LOOKED_AT);
    let items = store.items(&chat, AsOf::Tx(version.tx_id), first)?;
    Ok(items.iter().find_map(|item| words_of(item)))
}

/// The words of a person's message on one line, cut if there are many.
fn words_of(item: &str) -> Option<String> {
    let message = chat_item::read_unfilled(item, Counter::Characters).ok()?;
    if message.key.role != "user" {
        return None;
    }
    cut(message.text().split_whitespace())
}

fn cut<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut title = String::new();
    let mut length = 0;
    for word in words {
        let space = (!title.is_empty()).then_some(' ');
        let more = word.chars().count() + space.iter().count();
        if length + more > LONGEST {
            // A long word, such as a path, is kept if the rest would say little.
            if length < LONGEST / 2 {
                title.extend(space.into_iter().chain(word.chars()).take(LONGEST - length));
            }
            title.push('…');
            break;
        }
        title.extend(space);
        title.push_str(word);
        length += more;
    }
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_title_is_whole_words_on_one_line() {
        let title = |content: Value| {
            words_of(
                &serde_json::json!({ "turn": 1, "step": 1, "message": { "role": "user", "content": content } })
                    .to_string(),
            )
        };
        assert_eq!(title("  Fix\n\tthe   build ".into()).as_deref(), Some("Fix the build"));
        let blocks = serde_json::json!([{ "type": "text", "text": "one" }, { "type": "image" },
            { "type": "text", "text": "two" }]);
        assert_eq!(title(blocks).as_deref(), Some("one two"));
        let long = title("word ".repeat(40).into()).unwrap();
        assert_eq!((long.chars().count(), long.ends_with("word…")), (60, true));
        assert_eq!(title("ä".repeat(90).into()).unwrap().chars().count(), LONGEST + 1);
        let path = format!("Implement @ plans/{}.md", "part-".repeat(20));
        let cut = title(path.clone().into()).unwrap();
        assert_eq!(cut, format!("{}…", path.chars().take(LONGEST).collect::<String>()));
        for none in [Value::Null, "".into(), " \n".into(), serde_json::json!([])] {
            assert_eq!(title(none), None);
        }
        assert_eq!(
            words_of(r#"{"turn":1,"step":1,"message":{"role":"assistant","content":"x"}}"#),
            None
        );
        assert_eq!(words_of("[]"), None);
        assert_eq!(words_of("no JSON"), None);
    }
}
