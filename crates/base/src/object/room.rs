//! Limits how much untrusted input may be kept in memory: each operation has one room, and
//! everything it reads takes a share. A JSON tree can take sixty times its text, so values are
//! built one by one, and reading stops at once when the room is full. Must not know what is read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Bytes that one operation may keep from a server's answers.
const MAX_ANSWERED: usize = 256 << 20;
/// Multiple of a file's size that may be kept from it, and the bytes added to that so that small
/// files have room.
const FILE_MULTIPLE: usize = 8;
const SMALL_FILE: usize = 32 << 20;

/// Bytes that an allocation takes besides its contents.
const ALLOCATED: usize = 16;
/// Bytes of an object's entry besides the text of its key: value, key, hash, and its place in the
/// index.
const ENTRY: usize = size_of::<Value>() + size_of::<String>() + 2 * size_of::<usize>() + 16;
/// Extra bytes of an object with one entry, because it has space for four.
const OBJECT: usize = 3 * ENTRY;

/// What may still be kept. Threads may share it.
pub struct Room {
    size: usize,
    left: AtomicUsize,
    is_full: AtomicBool,
}

/// There is not enough room left.
#[derive(Debug)]
pub struct Full {
    size: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "takes more than {} bytes of memory", self.size)
    }
}

impl Room {
    /// Room for a server's answers in one operation.
    pub fn for_answers() -> Self {
        Self::of(MAX_ANSWERED)
    }

    /// Room for reading a file of this many bytes.
    pub fn for_file(bytes: usize) -> Self {
        Self::of(bytes.saturating_mul(FILE_MULTIPLE).saturating_add(SMALL_FILE))
    }

    /// Makes room for reading this many more bytes of a file.
    pub fn add_file(&mut self, bytes: usize) {
        let more = bytes.saturating_mul(FILE_MULTIPLE);
        self.size = self.size.saturating_add(more);
        *self.left.get_mut() = self.left.get_mut().saturating_add(more);
    }

    /// Room for this many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { size: bytes, left: AtomicUsize::new(bytes), is_full: AtomicBool::new(false) }
    }

    /// Takes this many bytes. Once a request fails, all later ones fail.
    pub fn take(&self, bytes: usize) -> Result<(), Full> {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        if taken.is_err() || self.is_full() {
            self.is_full.store(true, Ordering::Release);
            return Err(Full { size: self.size });
        }
        Ok(())
    }

    /// Whether a request failed.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// The number of bytes it had at first.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of bytes taken.
    pub fn taken(&self) -> usize {
        self.size - self.left.load(Ordering::Acquire)
    }

    /// Takes the bytes of a text.
    pub(crate) fn text(&self, text: &str) -> Result<(), Full> {
        self.take(text.len() + ALLOCATED)
    }

    /// Reads a JSON object from a text.
    ///
    /// # Errors
    /// If the text is not an object, or if there is no room for it.
    pub fn object(&self, text: &str) -> serde_json::Result<Map<String, Value>> {
        let mut json = serde_json::Deserializer::from_str(text);
        let value = self.deserialize(&mut json)?;
        json.end()?;
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(serde_json::Error::custom("it is not an object")),
        }
    }
}

/// Reads a value while there is room for it.
impl<'de> DeserializeSeed<'de> for &Room {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Room {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.text(text).map_err(E::custom)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut members = Vec::new();
        self.take(ALLOCATED).map_err(A::Error::custom)?;
        while let Some(member) = list.next_element_seed(self)? {
            self.take(size_of::<Value>()).map_err(A::Error::custom)?;
            members.push(member);
        }
        members.shrink_to_fit();
        Ok(Value::Array(members))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        self.take(OBJECT).map_err(A::Error::custom)?;
        while let Some(key) = entries.next_key::<String>()? {
            // The object's storage doubles as it grows, so each entry may take its space twice.
            self.take(2 * ENTRY + key.len() + ALLOCATED).map_err(A::Error::custom)?;
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(room: &Room, text: &str) -> serde_json::Result<Value> {
        room.deserialize(&mut serde_json::Deserializer::from_str(text))
    }

    #[test]
    fn what_is_too_much_ends_the_reading() {
        for text in [r#"{"a":1},"#, "1,", "[],", r#""x","#, "null,", r#"{"a":{}},"#] {
            let list = format!("[{}0]", text.repeat(10_000));
            let room = Room::of(100_000);
            let error = read(&room, &list).unwrap_err();
            assert!(error.to_string().contains("bytes of memory"), "{error}");
            assert!(room.is_full());
            assert!(read(&room, "[]").is_err(), "it stays full");
        }
    }

    #[test]
    fn a_text_of_a_document_takes_about_its_length() {
        let room = Room::of(1 << 20);
        let text = format!(r#"{{"xt/id":"a","text":"{}"}}"#, "x".repeat(500_000));
        assert_eq!(room.object(&text).unwrap().len(), 2);
        assert!(room.taken() < 510_000, "{}", room.taken());
        assert!(room.object("[1]").is_err());
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn what_there_is_room_for_is_read_as_it_stands(text in "[\\[\\]{}\",:a0-9.e-]{0,30}") {
            let plain = serde_json::from_str::<Value>(&text).ok();
            let mut json = serde_json::Deserializer::from_str(&text);
            let room = Room::for_answers();
            let ours = (&room).deserialize(&mut json).and_then(|value| json.end().map(|()| value));
            prop_assert_eq!(ours.ok(), plain);
        }
    }
}
