//! Whether a tool shows a file with the numbers of its lines, as Claude Code, OpenCode and Copilot
//! CLI do.

/// Number of lines examined.
const MAX_LINES: usize = 20;
/// Most check letters after a line number.
const MAX_CHECK: usize = 4;

/// Whether two consecutive lines at the beginning of an output are numbered: ` 1→text`,
/// `00001| text`, `1: text`, `1. text`, `1ab| text` with check letters, or a tab as the mark.
pub fn has_line_numbers(output: &str) -> bool {
    let numbers: Vec<Option<u64>> = output.lines().take(MAX_LINES).map(number).collect();
    let is_next = |pair: &[Option<u64>]| matches!(pair, [Some(one), Some(next)] if one.checked_add(1) == Some(*next));
    numbers.windows(2).any(is_next) || matches!(numbers.as_slice(), [Some(_)])
}

fn number(line: &str) -> Option<u64> {
    let line = line.trim_start_matches(' ');
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let check = rest.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let is_checked =
        (1..=MAX_CHECK).contains(&(rest.len() - check.len())) && check.starts_with('|');
    let is_mark =
        is_checked || ["→", "\t", "|", ": ", ". "].iter().any(|mark| rest.starts_with(mark));
    line[..line.len() - rest.len()].parse().ok().filter(|_| is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_lines_are_told_from_plain_ones() {
        for output in [
            "     1→fn main() {\n     2→}",
            "<file>\n00001| a\n00002| b\n</file>",
            "<content>\n1: a\n2: b",
            "9. a\n10. b",
            "     1\ta\n     2\tb",
            "     1→a",
            "83ek|  const a;\n84wb|",
        ] {
            assert!(has_line_numbers(output), "{output:?}");
        }
        for output in ["", "fn main() {\n}", "1\n2\n3", "1. a\n\ttext\n1. b", "12:30: x\n12:31: y"]
        {
            assert!(!has_line_numbers(output), "{output:?}");
        }
    }
}
