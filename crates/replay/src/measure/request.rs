//! One side's request from call to call: its size, how much it shares with the previous request,
//! which lines it contains.
//!
//! A change takes time proportional to what it touches; only a rewrite looks at everything behind
//! it.

use std::sync::Arc;

use memchr::memmem::Finder;

use super::message::MeasuredMessage;
use super::needs::TranscriptNeeds;
use context::tokens::Counter;
use context::view::Edit;
use session::{Prefix, extended};

/// Kinds of content of a request, without system prompt and tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestKinds {
    /// Text by people and the host.
    pub user: u64,
    /// Text by the model.
    pub assistant: u64,
    /// Outputs of tools.
    pub output: u64,
    /// Text in place of content: reference lines, folds, notes, the pool.
    pub reference: u64,
}

/// A message of a request.
#[derive(Debug)]
pub struct RequestPart {
    /// The message.
    pub message: MeasuredMessage,
    /// A number derived from what is compared: role and texts.
    pub number: u64,
    /// Its size by kind of content, in units.
    pub kinds: RequestKinds,
    /// Indexes of its lines that are ever needed, each as often as it occurs.
    pub lines: Vec<usize>,
}

/// The common prefix of a request and the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Units of the common prefix.
    pub units: u64,
    /// Whether the whole previous request is a prefix of this one.
    pub grown: bool,
}

/// A change of the list of parts.
pub type PartChange = Edit<Arc<RequestPart>>;

/// A request.
#[derive(Debug)]
pub struct MeasuredRequest {
    counter: Counter,
    parts: Vec<Arc<RequestPart>>,
    /// Units of all parts up to and including each.
    ends: Vec<u64>,
    /// The prefix that ends with each part.
    pub prefixes: Vec<Prefix>,
    /// Units by kind of content.
    pub kinds: RequestKinds,
    /// How often each needed line occurs as a line of its own.
    standing: Vec<u32>,
}

impl MeasuredRequest {
    /// An empty request.
    pub fn new(counter: Counter, needs: &TranscriptNeeds) -> Self {
        let standing = vec![0; needs.lines.len()];
        let (parts, ends, prefixes) = (Vec::new(), Vec::new(), Vec::new());
        Self { counter, parts, ends, prefixes, kinds: RequestKinds::default(), standing }
    }

    /// Units of all messages.
    pub fn units(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Units of the first `count` messages.
    pub fn units_of(&self, count: usize) -> u64 {
        count.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    /// Applies changes in order; returns the request's common prefix with the previous one.
    pub fn apply(&mut self, changes: Vec<PartChange>) -> Shared {
        let first = changes.iter().map(|change| change.at).min().unwrap_or(self.parts.len());
        let first = first.min(self.parts.len());
        let before: Vec<Arc<RequestPart>> = self.parts[first..].to_vec();
        for change in changes {
            let start = change.at.min(self.parts.len());
            let end = (start + change.remove).min(self.parts.len());
            for part in &change.insert {
                self.count(part, true);
            }
            let gone: Vec<_> = self.parts.splice(start..end, change.insert).collect();
            for part in &gone {
                self.count(part, false);
            }
        }
        self.ends.truncate(first);
        let mut end = self.units();
        self.ends.extend(self.parts[first..].iter().map(|part| {
            end += part.message.units;
            end
        }));
        self.prefixes.truncate(first);
        let mut prefix = self.prefixes.last().copied().unwrap_or_default();
        self.prefixes.extend(self.parts[first..].iter().map(|part| {
            prefix = extended(prefix, part.number);
            prefix
        }));
        self.shared(first, &before)
    }

    /// Whether a needed line occurs anywhere in the messages: verbatim or escaped as in JSON, or
    /// inside a longer line.
    pub fn holds(&self, line: usize, text: &str) -> bool {
        self.standing[line] > 0 || self.mentions(text)
    }

    fn mentions(&self, text: &str) -> bool {
        let escaped = serde_json::Value::from(text).to_string();
        let escaped = &escaped[1..escaped.len() - 1];
        let plain = Finder::new(text);
        let escaped = (escaped != text).then(|| Finder::new(escaped));
        let pieces = self.parts.iter().flat_map(|part| &part.message.pieces);
        let mut texts = pieces.map(|piece| piece.text.as_bytes());
        texts.any(|text| {
            let is_escaped = escaped.as_ref().is_some_and(|line| line.find(text).is_some());
            is_escaped || plain.find(text).is_some()
        })
    }

    /// The common prefix. `before`: the former parts from `first` on.
    fn shared(&self, first: usize, before: &[Arc<RequestPart>]) -> Shared {
        let same = |a: &Arc<RequestPart>, b: &Arc<RequestPart>| {
            Arc::ptr_eq(a, b) || a.message.equals(&b.message)
        };
        let now = &self.parts[first..];
        let kept = before.iter().zip(now).take_while(|(a, b)| same(a, b)).count();
        let whole = (first + kept).checked_sub(1).map_or(0, |last| self.ends[last]);
        let part = match (before.get(kept), now.get(kept)) {
            (Some(a), Some(b)) => a.message.shared_units(&b.message, self.counter),
            _ => 0,
        };
        Shared { units: whole + part, grown: kept == before.len() }
    }

    fn count(&mut self, part: &RequestPart, comes: bool) {
        let RequestKinds { user, assistant, output, reference } = &mut self.kinds;
        let sums = [
            (user, part.kinds.user),
            (assistant, part.kinds.assistant),
            (output, part.kinds.output),
            (reference, part.kinds.reference),
        ];
        for (sum, units) in sums {
            *sum = if comes { *sum + units } else { *sum - units };
        }
        for line in &part.lines {
            let count = &mut self.standing[*line];
            *count = if comes { *count + 1 } else { *count - 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A tool result; its role takes 10 characters.
    fn part(text: &str, needs: &TranscriptNeeds) -> Arc<RequestPart> {
        let content = json!([{ "type": "text", "text": text }]);
        let json = json!({ "role": "toolResult", "content": content }).to_string();
        Arc::new(RequestPart::given(MeasuredMessage::parse(&json, Counter::Characters), needs))
    }

    fn change(at: usize, remove: usize, texts: &[&str], needs: &TranscriptNeeds) -> PartChange {
        let insert = texts.iter().map(|text| part(text, needs)).collect();
        PartChange { at, remove, insert }
    }

    #[test]
    fn a_request_that_grew_shares_all_of_the_one_before() {
        let needs = TranscriptNeeds::default();
        let mut request = MeasuredRequest::new(Counter::Characters, &needs);
        let apply = |request: &mut MeasuredRequest, changes| request.apply(changes);
        assert_eq!(
            apply(&mut request, vec![change(0, 0, &["abc", "de"], &needs)]),
            Shared { units: 0, grown: true }
        );
        let grown = apply(&mut request, vec![change(2, 0, &["f"], &needs)]);
        assert_eq!((grown, request.units()), (Shared { units: 25, grown: true }, 36));
        let same = apply(&mut request, Vec::new());
        assert_eq!(same, Shared { units: 36, grown: true });
    }

    #[test]
    fn a_change_shares_all_before_the_first_different_character() {
        let needs = TranscriptNeeds::default();
        let mut request = MeasuredRequest::new(Counter::Characters, &needs);
        request.apply(vec![change(0, 0, &["abc", "defg", "h"], &needs)]);
        let shared = request.apply(vec![change(1, 1, &["dexx"], &needs)]);
        assert_eq!(shared, Shared { units: 13 + 10 + 2, grown: false });
        let shorter = request.apply(vec![change(2, 1, &[], &needs)]);
        assert_eq!(shorter, Shared { units: 13 + 14, grown: false });
        let put_again = request.apply(vec![change(0, 2, &["abc", "dexx", "z"], &needs)]);
        assert_eq!(put_again, Shared { units: 27, grown: true }, "an edit may change nothing");
    }

    #[test]
    fn a_line_is_found_verbatim_escaped_or_inside_a_longer_line() {
        let line = r#"let quoted = "a needed line"; // \d"#;
        let escaped = r#"let quoted = \"a needed line\"; // \\d"#;
        let answer = json!({ "role": "assistant", "content": line }).to_string();
        let given = json!({ "role": "user", "content": line }).to_string();
        let parse = |json: &str| MeasuredMessage::parse(json, Counter::Characters);
        let needs = TranscriptNeeds::find(&[parse(&given), parse(&answer)]);
        for (text, holds) in [
            (line.to_owned(), true),
            (format!("  {line}  \nx"), true),
            (format!("12: {line}"), true),
            (format!("{{\"text\":\"{escaped}\\n\"}}"), true),
            (line.replace("needed", ""), false),
        ] {
            let mut request = MeasuredRequest::new(Counter::Characters, &needs);
            request.apply(vec![change(0, 0, &["x", &text], &needs)]);
            assert_eq!(request.holds(0, line), holds, "{text}");
            request.apply(vec![change(1, 1, &["y"], &needs)]);
            assert!(!request.holds(0, line), "it is gone: {text}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn changes_lead_to_what_a_request_made_anew_has(
            edits in proptest::collection::vec((0_usize..8, 0_usize..4, "[ab]{0,4}"), 1..12),
        ) {
            let needs = TranscriptNeeds::default();
            let mut request = MeasuredRequest::new(Counter::Characters, &needs);
            let mut texts: Vec<String> = Vec::new();
            for (at, remove, letters) in edits {
                let at = at.min(texts.len());
                let remove = remove.min(texts.len() - at);
                let before = texts.clone();
                let insert: Vec<String> = letters.chars().map(|c| c.to_string().repeat(3)).collect();
                texts.splice(at..at + remove, insert.clone());
                let insert: Vec<&str> = insert.iter().map(String::as_str).collect();
                let shared = request.apply(vec![change(at, remove, &insert, &needs)]);

                let same = before.iter().zip(&texts).take_while(|(a, b)| a == b).count();
                // Messages of one role share it; the letters are the same or not from the first.
                let role = if same < before.len().min(texts.len()) { 10 } else { 0 };
                let expected = Shared { units: 13 * same as u64 + role, grown: same == before.len() };
                prop_assert_eq!(shared, expected);
                let sizes = (request.units(), request.kinds.output, request.parts.len());
                let all = 13 * texts.len() as u64;
                prop_assert_eq!(sizes, (all, all, texts.len()));
            }
        }
    }
}
