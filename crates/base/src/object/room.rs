//! How much of what a stranger sends may be kept in memory: one operation has one room, and all that it reads takes its share of it. A
//! tree of JSON takes sixty times its text at worst, so values are built one by one, and what is too much ends the reading where it is.
//! Must not know what is read.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Bytes that one operation may keep of all that a server answers.
const MAX_ANSWERED: usize = 256 << 20;
/// How many times the bytes of a file may be kept of it, and what of a small one.
const FILE_MULTIPLE: usize = 8;
const SMALL_FILE: usize = 32 << 20;

/// What an allocation takes beside its bytes.
const ALLOCATED: usize = 16;
/// An entry of an object beside its key's text: value, key, hash, and its place in the index.
const ENTRY: usize = size_of::<Value>() + size_of::<String>() + 2 * size_of::<usize>() + 16;
/// What an object with one entry takes beside that: it has space for four.
const OBJECT: usize = 3 * ENTRY;

/// What may still be kept. Several threads may share it.
pub struct Room {
    size: usize,
    left: AtomicUsize,
    is_full: AtomicBool,
}

/// There is no room for what comes.
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
    /// For what a server answers in one operation.
    pub fn for_answers() -> Self {
        Self::of(MAX_ANSWERED)
    }

    /// For what is read of a file of so many bytes.
    pub fn for_file(bytes: usize) -> Self {
        Self::of(bytes.saturating_mul(FILE_MULTIPLE).saturating_add(SMALL_FILE))
    }

    /// Makes room for what is read of so many bytes more of a file.
    pub fn add_file(&mut self, bytes: usize) {
        let more = bytes.saturating_mul(FILE_MULTIPLE);
        self.size = self.size.saturating_add(more);
        *self.left.get_mut() = self.left.get_mut().saturating_add(more);
    }

    /// With so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { size: bytes, left: AtomicUsize::new(bytes), is_full: AtomicBool::new(false) }
    }

    /// Takes so many bytes; once there are too few, never again.
    pub fn take(&self, bytes: usize) -> Result<(), Full> {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
        if taken.is_err() || self.is_full() {
            self.is_full.store(true, Ordering::Release);
            return Err(Full { size: self.size });
        }
        Ok(())
    }

    /// Whether something was too much.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// How many bytes it had at first.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many bytes were taken.
    pub fn taken(&self) -> usize {
        self.size - self.left.load(Ordering::Acquire)
    }

    /// Takes what a text takes.
    pub(crate) fn text(&self, text: &str) -> Result<(), Full> {
        self.take(text.len() + ALLOCATED)
    }

    /// Reads an object that stands in a text.
    ///
    /// # Errors
    /// Those of the text, and if there is no room for it.
    pub fn object(&self, text: &str) -> serde_json::Result<Map<String, Value>> {
        let mut json = serde_json::Deserializer::from_str(text);
        let value = self.deserialize(&mut json)?;
        json.end()?;
        match value {
            Value::Object(object) => Ok(object),
            _ => Err(serde_json::Error::custom("it is no object")),
        }
    }
}

/// Reads a value, as long as there is room for it.
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
            // It doubles as it grows.
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
