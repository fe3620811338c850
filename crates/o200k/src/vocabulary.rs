//! The vocabulary of `o200k_base`: the rank of each token by its bytes. Packed in the program by `scripts/make-vocabulary.js`
//! and unpacked when it is first needed, which takes some 10 ms and 5 MB. Must not know how a text becomes tokens.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The length of each token in a byte, by rank, then their bytes; all in one zstd frame.
const PACKED: &[u8] = include_bytes!("o200k_base.zst");
/// Bytes of the frame's content.
const UNPACKED_BYTES: usize = 1_597_668;
const TOKENS: usize = 199_998;
/// Slots of the table, a power of two. Two of five are taken, so that most searches end at the first.
const SLOTS: usize = 1 << 19;

/// Tokens by their bytes.
pub(super) struct Vocabulary {
    /// The tokens' bytes, one after another.
    bytes: Box<[u8]>,
    /// Where each token ends in `bytes`, by rank.
    ends: Box<[u32]>,
    /// A token's rank and 1 stand in the slot of its hash or, where others were first, behind it; 0 is free.
    slots: Box<[u32]>,
    longest: usize,
}

impl Vocabulary {
    /// Unpacks the vocabulary.
    pub(super) fn unpack() -> Self {
        let mut lengths = zstd::bulk::decompress(PACKED, UNPACKED_BYTES)
            .expect("the program's own vocabulary is a zstd frame of this size");
        let bytes = lengths.split_off(TOKENS);
        let mut ends = Vec::with_capacity(TOKENS);
        let mut end = 0;
        for length in &lengths {
            end += u32::from(*length);
            ends.push(end);
        }
        let longest = lengths.iter().copied().max().unwrap_or_default().into();
        let mut vocabulary =
            Self { bytes: bytes.into(), ends: ends.into(), slots: vec![0; SLOTS].into(), longest };
        for rank in 0..u32::try_from(TOKENS).unwrap_or(u32::MAX) {
            // No two tokens are the same, so that none of those that are there need be compared.
            let mut slot = slot_of(vocabulary.token(rank));
            while vocabulary.slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            vocabulary.slots[slot] = rank + 1;
        }
        vocabulary
    }

    /// The rank of a token; `None` if no token has these bytes.
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        self.slots[self.search(bytes)].checked_sub(1)
    }

    /// The slot of a token with these bytes, or the free one where it would stand.
    fn search(&self, bytes: &[u8]) -> usize {
        let mut slot = slot_of(bytes);
        while let Some(rank) = self.slots[slot].checked_sub(1) {
            if self.token(rank) == bytes {
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    fn token(&self, rank: u32) -> &[u8] {
        let at = rank as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }
}

/// The first slot in which a token may stand.
fn slot_of(bytes: &[u8]) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    usize::try_from(hasher.finish() >> 32).unwrap_or(0) % SLOTS
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_packed_vocabulary_is_the_one_that_was_made() {
        // As the script printed it, which checks the published file.
        let unpacked = zstd::bulk::decompress(PACKED, UNPACKED_BYTES).unwrap();
        let made = "440741350e7cfa1c0f4869ce742d1b043550adbda5187adcac9e787edac6fba9";
        let found = Sha256::digest(&unpacked);
        let made: Vec<u8> = (0..64)
            .step_by(2)
            .map(|at| u8::from_str_radix(&made[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(found[..], made[..]);
    }

    #[test]
    fn every_token_has_its_rank_and_other_bytes_have_none() {
        let vocabulary = Vocabulary::unpack();
        for rank in 0..u32::try_from(TOKENS).unwrap() {
            assert_eq!(vocabulary.rank(vocabulary.token(rank)), Some(rank));
        }
        assert_eq!(vocabulary.rank(b""), None);
        assert_eq!(vocabulary.rank("no token is as long as this".as_bytes()), None);
        assert_eq!(vocabulary.rank(&[b'a'; 1_000]), None);
    }
}
