//! The output of the `read` tool, byte for byte as Pi's: limits, notices and errors.
//!
//! Pure; the caller reads the file. Follows `dist/core/tools/read.js` and `truncate.js` of
//! `@earendil-works/pi-coding-agent` 0.87.1, and is checked against `tests/fixtures/pi-read.json`,
//! which that code produced.

use base::error::{Error, Result};
use base::object::canonical_json;

/// Maximum number of lines that one call shows.
pub const MAX_LINES: usize = 2_000;

/// Maximum number of bytes that one call shows, notices not counted.
pub const MAX_BYTES: usize = 50 * 1_024;

/// The lines of a text that Pi's `read` shows, and its notice.
///
/// `path_as_given`: the path as the model wrote it, for a notice. `offset`: first line, from 1;
/// missing, 0 or negative means the first. `limit`: maximum number of lines; missing means all,
/// within the tool's own limits. Models do send fractions and negative numbers; these behave as in
/// JavaScript's `slice` and number formatting.
///
/// # Errors
/// `OFFSET_BEYOND_END` with Pi's text; `INVALID_ARGUMENT` for a fractional offset at a line that is
/// longer than the limit, where Pi fails with a runtime error.
pub fn read_text(
    text: &str,
    path_as_given: &str,
    offset: Option<f64>,
    limit: Option<f64>,
) -> Result<String> {
    let lines = LineStarts::of(text);
    let total = to_number(lines.count());
    let start = offset.map_or(0.0, |offset| (offset - 1.0).max(0.0));
    if start >= total {
        let offset = number_text(offset.unwrap_or(0.0))?;
        return Err(Error::OffsetBeyondEnd { offset, total_lines: lines.count() as u64 });
    }
    let user_end = limit.map(|limit| (start + limit).min(total));
    let first = slice_index(start, lines.count());
    let end = user_end.map_or(lines.count(), |end| slice_index(end, lines.count())).max(first);
    let selected = lines.join(first..end);
    Ok(match truncate_head(selected) {
        Truncation::FirstLineTooLong => {
            too_long_notice(start, lines.join(first..first + 1), path_as_given)?
        }
        Truncation::Cut { text, lines: count, by_bytes } => {
            text.to_owned() + &cut_notice(start, count, total, by_bytes)?
        }
        Truncation::Whole(text) => match user_end.filter(|end| *end < total) {
            Some(end) => text.to_owned() + &more_notice(end, total)?,
            None => text.to_owned(),
        },
    })
}

fn too_long_notice(start: f64, line: &str, path: &str) -> Result<String> {
    if start.fract() != 0.0 {
        return Err(Error::argument("offset", "is not a whole number"));
    }
    Ok(format!(
        "[Line {line_number} is {size}, exceeds {limit} limit. Use bash: sed -n '{line_number}p' {path} | head -c {MAX_BYTES}]",
        line_number = number_text(start + 1.0)?,
        size = format_size(line.len()),
        limit = format_size(MAX_BYTES),
    ))
}

fn cut_notice(start: f64, shown_lines: usize, total: f64, by_bytes: bool) -> Result<String> {
    let first = start + 1.0;
    let last = first + to_number(shown_lines) - 1.0;
    let limit =
        if by_bytes { format!(" ({} limit)", format_size(MAX_BYTES)) } else { String::new() };
    Ok(format!(
        "\n\n[Showing lines {}-{} of {}{limit}. Use offset={} to continue.]",
        number_text(first)?,
        number_text(last)?,
        number_text(total)?,
        number_text(last + 1.0)?,
    ))
}

fn more_notice(end: f64, total: f64) -> Result<String> {
    Ok(format!(
        "\n\n[{} more lines in file. Use offset={} to continue.]",
        number_text(total - end)?,
        number_text(end + 1.0)?,
    ))
}

/// Where the lines of a text start.
struct LineStarts<'text> {
    text: &'text str,
    starts: Vec<usize>,
}

impl<'text> LineStarts<'text> {
    fn of(text: &'text str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self { text, starts: std::iter::once(0).chain(after_newlines).collect() }
    }

    /// At least 1.
    fn count(&self) -> usize {
        self.starts.len()
    }

    /// Lines of a range (from 0, within the text), joined by `\n`.
    fn join(&self, range: std::ops::Range<usize>) -> &'text str {
        if range.is_empty() {
            return "";
        }
        let end = self.starts.get(range.end).map_or(self.text.len(), |next| next - 1);
        &self.text[self.starts[range.start]..end]
    }
}

enum Truncation<'text> {
    Whole(&'text str),
    Cut { text: &'text str, lines: usize, by_bytes: bool },
    FirstLineTooLong,
}

/// `truncateHead` of Pi: whole lines from the start, up to [`MAX_LINES`] and [`MAX_BYTES`].
fn truncate_head(content: &str) -> Truncation<'_> {
    // Unlike in line numbers, an empty last line does not count here, but its newline counts as a
    // byte.
    let counted = content.strip_suffix('\n').unwrap_or(content);
    let total = if content.is_empty() { 0 } else { counted.split('\n').count() };
    if total <= MAX_LINES && content.len() <= MAX_BYTES {
        return Truncation::Whole(content);
    }
    let (mut bytes, mut lines, mut by_bytes) = (0, 0, false);
    for line in counted.split('\n').take(MAX_LINES) {
        let separator = usize::from(lines > 0);
        if bytes + separator + line.len() > MAX_BYTES {
            if lines == 0 {
                return Truncation::FirstLineTooLong;
            }
            by_bytes = true;
            break;
        }
        bytes += separator + line.len();
        lines += 1;
    }
    Truncation::Cut { text: &counted[..bytes], lines, by_bytes }
}

/// The index that `Array.prototype.slice` makes of a number: rounded towards zero, negative from
/// the end, clipped.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clipped to 0..=length before the cast"
)]
fn slice_index(number: f64, length: usize) -> usize {
    let whole = number.trunc();
    let from_start = if whole < 0.0 { whole + to_number(length) } else { whole };
    from_start.clamp(0.0, to_number(length)) as usize
}

#[expect(clippy::cast_precision_loss, reason = "line counts are far below 2^53")]
fn to_number(count: usize) -> f64 {
    count as f64
}

/// A number as JavaScript writes it.
fn number_text(number: f64) -> Result<String> {
    canonical_json(&number)
}

/// `formatSize` of Pi: bytes, or KB or MB with one decimal. `toFixed` rounds halves up; so does
/// this.
fn format_size(bytes: usize) -> String {
    let (unit, name) = match bytes {
        0..1_024 => return format!("{bytes}B"),
        1_024..1_048_576 => (1_024, "KB"),
        _ => (1_048_576, "MB"),
    };
    let tenths = (bytes * 10 + unit / 2) / unit;
    format!("{}.{}{name}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::object::{locate_slice, render_slice};

    #[test]
    fn sizes_round_halves_up_as_to_fixed_does() {
        for (bytes, text) in [
            (0, "0B"),
            (1_023, "1023B"),
            (1_024, "1.0KB"),
            (1_280, "1.3KB"),
            (51_200, "50.0KB"),
            (1_048_575, "1024.0KB"),
            (1_048_576, "1.0MB"),
            (1_310_720, "1.3MB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }

    #[test]
    fn an_offset_beyond_the_end_fails_with_the_text_of_pi() {
        let error = read_text("a\nb", "f", Some(3.0), None).unwrap_err();
        assert_eq!(error.code(), "OFFSET_BEYOND_END");
        assert_eq!(error.to_string(), "Offset 3 is beyond end of file (2 lines total)");
    }

    #[test]
    fn what_is_shown_can_be_located_in_the_file() {
        let lines: Vec<_> = (1..=5_000).map(|line| format!("line {line} of the file\n")).collect();
        let text = lines.concat();
        for (offset, limit, last) in
            [(None, None, 2_000), (Some(10_u32), Some(3.0), 12), (Some(4_990), None, 5_001)]
        {
            let shown = read_text(&text, "f", offset.map(f64::from), limit).unwrap();
            let slice = locate_slice(&text, &shown, offset.map_or(1, u64::from)).unwrap();
            assert_eq!(slice.last_line, last);
            assert_eq!(render_slice(&text, &slice), Some(shown));
        }
    }

    #[test]
    fn a_limit_of_zero_shows_no_line() {
        let shown = read_text("a\nb", "f", None, Some(0.0)).unwrap();
        assert_eq!(shown, "\n\n[2 more lines in file. Use offset=1 to continue.]");
    }
}
