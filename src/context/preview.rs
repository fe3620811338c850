//! Previews of long outputs: head and tail, with a count of what lies between. Pure text.

use super::forms;
use super::tokens;
use crate::object::Handle;
use crate::session::{LineRange, Treatment};

/// Characters of a line above which a preview cuts it.
const MAX_LINE_CHARS: usize = 400;
/// Share of the shown characters that goes to the head, in tenths: logs say at the end what came of it.
const HEAD_TENTHS: usize = 4;

/// Chooses how much of an output a preview shows; `None` if it is short enough, or a preview would spare too little.
///
/// `limit_tokens`: outputs up to this size are shown whole; a preview shows about half of it.
pub fn plan(text: &str, text_tokens: u64, limit_tokens: u64) -> Option<Treatment> {
    if limit_tokens == 0 || text_tokens <= limit_tokens {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let budget = usize::try_from(limit_tokens).unwrap_or(usize::MAX).saturating_mul(2); // half of 4 characters a token
    let head = lines_within(lines.iter(), budget / 10 * HEAD_TENTHS);
    let tail = lines_within(lines.iter().rev(), budget - budget / 10 * HEAD_TENTHS);
    let (head, tail) = if head + tail >= lines.len() { (lines.len(), 0) } else { (head, tail) };
    let treatment = Treatment::Preview { head: head as u64, tail: tail as u64 };
    let sample = Handle::parse("t100")?;
    let shown = tokens::count(&render(text, head as u64, tail as u64, sample));
    (shown * 4 <= text_tokens * 3).then_some(treatment)
}

/// Renders a preview.
pub fn render(text: &str, head: u64, tail: u64, handle: Handle) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let total = lines.len() as u64;
    let (head, tail) = (head.min(total), tail.min(total));
    let cut = |number: u64| {
        cut_line(lines.get(usize::try_from(number - 1).unwrap_or(0)).unwrap_or(&""), number, handle)
    };
    let mut shown: Vec<String> = (1..=head).map(cut).collect();
    let between = LineRange { first: head + 1, last: total - tail };
    if !between.is_empty() {
        shown.push(forms::between_line(handle, between));
    }
    shown.extend((between.last.max(head) + 1..=total).map(cut));
    shown.join("\n")
}

fn cut_line(line: &str, number: u64, handle: Handle) -> String {
    let characters = line.chars().count();
    if characters <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let side = MAX_LINE_CHARS / 2;
    let head: String = line.chars().take(side).collect();
    let tail: String = line.chars().skip(characters - side).collect();
    let cut = forms::long_line_cut(handle, number, (characters - 2 * side) as u64);
    format!("{head} {cut} {tail}")
}

fn lines_within<'a>(lines: impl Iterator<Item = &'a &'a str>, budget: usize) -> usize {
    let mut used = 0;
    lines
        .take_while(|line| {
            used += line.chars().count().min(MAX_LINE_CHARS + 40) + 1;
            used <= budget
        })
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn handle() -> Handle {
        Handle::parse("t17").unwrap()
    }

    #[test]
    fn a_long_log_keeps_head_and_tail() {
        let log: Vec<String> = (1..=1_400).map(|n| format!("line {n} of the log")).collect();
        let text = log.join("\n");
        let Some(Treatment::Preview { head, tail }) = plan(&text, tokens::count(&text), 1_000)
        else {
            panic!("a preview is due")
        };
        assert!(tail > head && head > 10, "{head} {tail}");
        let shown = render(&text, 2, 3, handle());
        insta::assert_snapshot!(shown, @r"
        line 1 of the log
        line 2 of the log
        … 1,395 lines between (t17:3-1397) …
        line 1398 of the log
        line 1399 of the log
        line 1400 of the log
        ");
    }

    #[test]
    fn one_endless_line_is_cut_by_characters() {
        let text = "x".repeat(100_000);
        assert!(matches!(
            plan(&text, 12_500, 4_000),
            Some(Treatment::Preview { head: 1, tail: 0 })
        ));
        let shown = render(&text, 1, 0, handle());
        assert!(shown.contains("… 99,600 characters between (t17:1) …"));
    }

    #[test]
    fn outputs_within_the_limit_are_shown_whole() {
        assert_eq!(plan("a\nb", 3, 4_000), None);
        assert_eq!(plan(&"a\n".repeat(9_000), 18_000, 0), None);
    }

    proptest! {
        #[test]
        fn every_line_is_shown_or_counted(lines in 1usize..60, head in 0u64..70, tail in 0u64..70) {
            let text: Vec<String> = (1..=lines).map(|n| n.to_string()).collect();
            let shown = render(&text.join("\n"), head, tail, handle());
            let counted: u64 = shown.lines().map(|line| match line.strip_prefix("… ") {
                Some(rest) => rest.split(' ').next().unwrap().replace(',', "").parse::<u64>().unwrap(),
                None => 1,
            }).sum();
            prop_assert_eq!(counted, lines as u64);
        }
    }
}
