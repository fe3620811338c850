//! Tells data from text: base64, long runs of hexadecimal digits, control characters. Pure.

/// Longest run of hexadecimal digits that counts as a hash: SHA-512 in hexadecimal.
const MAX_HEX_BYTES: usize = 128;

/// End of the run of base64 characters (of both alphabets) that starts at `start`.
pub(super) fn blob_end(text: &str, start: usize) -> usize {
    let is_inside = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
    };
    start + text.as_bytes()[start..].iter().take_while(|byte| is_inside(byte)).count()
}

/// Whether a long run is data and not a path: in data, lower-case letters, capitals and digits
/// alternate at random.
pub(super) fn is_blob(run: &[u8]) -> bool {
    // Hashes and UUIDs in a path are mixed too, but people look for them.
    let is_hash = |piece: &&[u8]| piece.iter().all(u8::is_ascii_hexdigit);
    let (hashes, others): (Vec<&[u8]>, Vec<&[u8]>) =
        run.split(|byte| !byte.is_ascii_alphanumeric()).partition(is_hash);
    let bytes: usize = others.iter().map(|piece| piece.len()).sum();
    let mixed: usize = others.iter().map(|piece| switches(piece)).sum();
    hashes.iter().any(|hash| hash.len() > MAX_HEX_BYTES) || mixed * 3 > bytes
}

/// Number of changes between kinds of characters: small letters, capitals, digits.
pub(super) fn switches(run: &[u8]) -> usize {
    let kind = |byte: &u8| match byte {
        b'a'..=b'z' => Some(0),
        b'A'..=b'Z' => Some(1),
        b'0'..=b'9' => Some(2),
        _ => None,
    };
    let kinds: Vec<u8> = run.iter().filter_map(kind).collect();
    kinds.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Whether more than a tenth of the text's beginning is control characters and replaced bytes.
pub(super) fn looks_binary(text: &str) -> bool {
    const LOOKED_AT: usize = 8_192;
    let is_odd = |character: char| {
        character == '\u{FFFD}'
            || (character.is_control() && !"\t\n\r\u{c}\u{1b}".contains(character))
    };
    let (mut odd, mut all) = (0, 0);
    for character in text.chars().take(LOOKED_AT) {
        all += 1;
        odd += usize::from(is_odd(character));
    }
    odd * 10 > all
}
