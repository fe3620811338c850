//! Byte-pair encoding.
//!
//! A text is split into pieces (words, numbers, signs, white space), and in each piece the neighbours that make the token of
//! the lowest rank are merged until no two make one. A heap finds them, so that a piece of n bytes takes n log n steps: a
//! minified file or base64 is one piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::sync::LazyLock;

use regex_automata::meta::{Cache, Regex};
use regex_automata::util::pool::Pool;
use regex_automata::{Anchored, Input};

use crate::vocabulary::Vocabulary;

/// The pieces, as tiktoken's `o200k_base` has them (`tiktoken_ext/openai_public.py`), but for `\s+(?!\S)`, which a regular
/// expression without look-ahead cannot say: [`BEFORE_TEXT`] takes its place.
const PIECES: [&str; 3] = [
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
    ),
    r"\s+\s",
    r"\s+",
];
/// Which of the pieces is white space before text: its last character belongs to what follows.
const BEFORE_TEXT: usize = 1;

static SPLIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new_many(&PIECES).expect("the program's own expressions can be compiled")
});
/// What searching needs: taken once for a text, since the expression's own pool takes as long as finding a piece.
static CACHES: LazyLock<Pool<Cache, fn() -> Cache>> =
    LazyLock::new(|| Pool::new(|| SPLIT.create_cache()));
static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::unpack);

/// Bytes of text for which another thread pays.
const SHARE_BYTES: usize = 16 << 10;
/// Threads at most that count one text.
const THREADS: usize = 4;

/// Counts the tokens of a text. Special tokens count as plain text. A text of n bytes takes n log n steps at most; a long one is
/// counted by several threads.
///
/// # Panics
/// If a text without white space has 4 GiB or more.
pub fn count(text: &str) -> u64 {
    static MOST: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS));
    let shares = shares(text, (text.len() / SHARE_BYTES).min(*MOST));
    let Some((first, others)) = shares.split_first() else { return 0 };
    std::thread::scope(|scope| {
        let spawn =
            |share| std::thread::Builder::new().spawn_scoped(scope, move || of_share(share));
        let others: Vec<_> = others.iter().map(|share| (*share, spawn(*share))).collect();
        let counts = others.into_iter().map(|(share, counted)| {
            // The system may give no thread.
            let counted = counted.ok().and_then(|thread| thread.join().ok());
            counted.unwrap_or_else(|| of_share(share))
        });
        of_share(first) + counts.sum::<u64>()
    })
}

/// Cuts a text into so many shares of about one size, where no piece goes on: behind a line's end with a letter or number after it.
fn shares(text: &str, count: usize) -> Vec<&str> {
    let mut shares = Vec::with_capacity(count);
    let mut rest = text;
    for left in (2..=count).rev() {
        let from = rest.len() / left;
        let is_cut = |at: &usize| {
            let next = rest.get(*at..).and_then(|next| next.chars().next());
            rest.as_bytes()[at - 1] == b'\n' && next.is_some_and(char::is_alphanumeric)
        };
        let Some(at) = (from.max(1)..rest.len()).find(is_cut) else { break };
        let (share, behind) = rest.split_at(at);
        shares.push(share);
        rest = behind;
    }
    shares.push(rest);
    shares
}

fn of_share(text: &str) -> u64 {
    let (vocabulary, mut scratch, mut cache) = (&*VOCABULARY, Scratch::default(), CACHES.get());
    let mut rest = text;
    let mut tokens = 0;
    while let Some(length) = piece(rest, &mut cache) {
        tokens += scratch.count(vocabulary, &rest.as_bytes()[..length]);
        rest = &rest[length..];
    }
    tokens
}

/// Bytes of the first piece of a text; `None` of an empty one.
fn piece(text: &str, cache: &mut Cache) -> Option<usize> {
    let found = SPLIT.search_half_with(cache, &Input::new(text).anchored(Anchored::Yes))?;
    let last = text[..found.offset()]
        .chars()
        .next_back()
        .filter(|_| found.pattern().as_usize() == BEFORE_TEXT);
    Some(found.offset() - last.map_or(0, char::len_utf8))
}

/// What merging a piece needs, kept from piece to piece.
#[derive(Default)]
struct Scratch {
    /// The parts of the piece by their first byte: where each ends and where the one before begins. A part that was merged into
    /// the one before has no end.
    parts: Vec<Part>,
    /// Pairs by the rank of the token that they make, then from left to right: the first byte, and the end of the second part
    /// when the pair was found.
    pairs: BinaryHeap<Reverse<(u32, u32, u32)>>,
}

#[derive(Clone, Copy)]
struct Part {
    end: u32,
    before: u32,
}

const MERGED: u32 = 0;

impl Scratch {
    /// Tokens of a piece.
    fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> u64 {
        if vocabulary.rank(piece).is_some() {
            return 1;
        }
        let length = u32::try_from(piece.len()).expect("a piece has less than 4 GiB");
        self.parts.clear();
        self.parts.extend((0..length).map(|at| Part { end: at + 1, before: at.saturating_sub(1) }));
        self.pairs.clear();
        for at in 0..length {
            self.pair(vocabulary, piece, at);
        }
        let mut tokens = u64::from(length);
        while let Some(Reverse((_, at, end))) = self.pairs.pop() {
            if !self.stands(at, end) {
                continue;
            }
            let second = self.parts[at as usize].end;
            self.parts[second as usize].end = MERGED;
            self.parts[at as usize].end = end;
            if let Some(next) = self.parts.get_mut(end as usize) {
                next.before = at;
            }
            tokens -= 1;
            self.pair(vocabulary, piece, at);
            if at > 0 {
                self.pair(vocabulary, piece, self.parts[at as usize].before);
            }
        }
        tokens
    }

    /// Notes the pair that the part at a byte makes with the next one, if that is a token.
    fn pair(&mut self, vocabulary: &Vocabulary, piece: &[u8], at: u32) {
        let second = self.parts[at as usize].end;
        let Some(Part { end, .. }) = self.parts.get(second as usize) else { return };
        if let Some(rank) = vocabulary.rank(&piece[at as usize..*end as usize]) {
            self.pairs.push(Reverse((rank, at, *end)));
        }
    }

    /// Whether a pair still consists of two parts.
    fn stands(&self, at: u32, end: u32) -> bool {
        let second = self.parts[at as usize].end;
        second != MERGED && second < end && self.parts[second as usize].end == end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(mut text: &str) -> Vec<&str> {
        let (mut pieces, mut cache) = (Vec::new(), SPLIT.create_cache());
        while let Some(length) = piece(text, &mut cache) {
            pieces.push(&text[..length]);
            text = &text[length..];
        }
        pieces
    }

    #[test]
    fn white_space_before_a_word_belongs_to_it() {
        assert_eq!(
            pieces("a  b\n\n c12345 d's  "),
            ["a", " ", " b", "\n\n", " c", "123", "45", " d's", "  "]
        );
        assert_eq!(pieces("\u{3000}\u{3000}x"), ["\u{3000}", "\u{3000}x"]);
    }

    #[test]
    fn counts_are_those_that_tiktoken_publishes() {
        // The first is common knowledge; the others are printed by OpenAI's cookbook "How to count tokens with tiktoken".
        for (text, tokens) in [
            ("", 0),
            ("hello world", 2),
            ("antidisestablishmentarianism", 6),
            ("2 + 2 = 4", 7),
            ("お誕生日おめでとう", 8),
        ] {
            assert_eq!(count(text), tokens, "{text}");
        }
    }

    #[test]
    fn shares_of_a_text_have_as_many_tokens_as_the_whole() {
        let alphabet = [
            "\n", "\r", "\r\n", " ", "\t", "/", "/\n", ";", "a", "It's", "é", "e\u{301}", "Ⓐ", "7",
            "日", "\u{3000}",
        ];
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..20_000 {
            let text: String = (0..next(24)).map(|_| alphabet[next(alphabet.len())]).collect();
            for count in 0..4 {
                let shares = shares(&text, count);
                assert_eq!(shares.concat(), text);
                let tokens: u64 = shares.iter().map(|share| of_share(share)).sum();
                assert_eq!(tokens, of_share(&text), "{shares:?}");
            }
        }
        let lines = "fn main() { println!(\"{}\", 12345); }\n".repeat(4_000);
        assert_eq!(shares(&lines, 4).len(), 4);
        assert_eq!(count(&lines), of_share(&lines));
    }

    #[test]
    fn a_megabyte_without_white_space_is_counted() {
        // As the crate `bpe-openai` counts them.
        for (piece, tokens) in
            [("a", 131_072), ("é", 524_288), ("=", 16_384), ("日", 174_763), ("xQ9", 1_048_575)]
        {
            assert_eq!(count(&piece.repeat((1 << 20) / piece.len())), tokens, "{piece:?}");
        }
    }
}
