//! SHA-256 hashes and the running hash of append-only items.

use std::fmt;
use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A SHA-256 hash, shown as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hash(String);

impl Hash {
    /// Hashes bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(to_hex(&Sha256::digest(bytes.as_ref())))
    }

    /// Takes a stored or received hash without checking it. A malformed one equals no other.
    pub fn from_stored(hex: impl Into<String>) -> Self {
        Self(hex.into())
    }

    /// Takes the 32 bytes that the digits stand for.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(to_hex(bytes))
    }

    /// The 32 bytes that the digits stand for; `None` if these are not 64 lower-case hexadecimal
    /// digits.
    pub fn to_bytes(&self) -> Option<[u8; 32]> {
        let digits: &[u8; 64] = self.0.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = from_digit(pair[0])? << 4 | from_digit(pair[1])?;
        }
        Some(bytes)
    }

    /// The hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Hash of a growing list: `h(0) = SHA-256("")`, `h(n) = SHA-256(hex h(n-1) || item n)`.
///
/// Appending hashes only the new item, and two lists have equal hashes exactly if they hold the
/// same items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningHash(Hash);

impl Default for RunningHash {
    fn default() -> Self {
        Self(Hash::of(""))
    }
}

impl RunningHash {
    /// Continues from a hash that was stored.
    pub fn from_stored(hash: Hash) -> Self {
        Self(hash)
    }

    /// Adds one item and returns the new hash.
    pub fn push(&mut self, item: &str) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(self.0.as_str());
        hasher.update(item);
        self.0 = Hash(to_hex(&hasher.finalize()));
        self.0.clone()
    }

    /// The hash of everything pushed so far.
    pub fn hash(&self) -> &Hash {
        &self.0
    }
}

/// Hashes what is added, without keeping it.
#[derive(Default)]
pub(super) struct HashWriter(Sha256);

impl HashWriter {
    pub(super) fn add(&mut self, text: &str) {
        self.0.update(text);
    }

    /// Adds a text, or nothing, as JSON; RFC 8785 writes texts as everybody does.
    pub(super) fn add_json(&mut self, text: Option<&str>) -> Result<()> {
        let mut buffered = BufWriter::new(&mut *self);
        let written = serde_json::to_writer(&mut buffered, &text).map_err(io::Error::from);
        written.and_then(|()| buffered.flush()).map_err(|error| Error::internal(error.to_string()))
    }

    pub(super) fn finish(self) -> Hash {
        Hash(to_hex(&self.0.finalize()))
    }
}

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

fn from_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_matches_the_published_vectors_of_fips_180() {
        assert_eq!(
            Hash::of("abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            Hash::of("").as_str(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn hash_round_trips_through_its_bytes() {
        let hash = Hash::of("abc");
        assert_eq!(Hash::from_bytes(&hash.to_bytes().unwrap()), hash);
        let upper = hash.as_str().to_uppercase();
        for odd in ["", "abc", upper.as_str(), "é".repeat(32).as_str()] {
            assert_eq!(Hash::from_stored(odd).to_bytes(), None, "{odd}");
        }
    }

    #[test]
    fn running_hash_depends_on_where_items_end() {
        let hash = |items: &[&str]| {
            let mut running = RunningHash::default();
            for item in items {
                running.push(item);
            }
            running.hash().clone()
        };
        assert_eq!(hash(&["ab", "c"]), hash(&["ab", "c"]));
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_ne!(hash(&["a"]), hash(&["a", ""]));
    }
}
