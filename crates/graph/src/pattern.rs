//! Patterns for the places of relations. Must not look at the relations themselves.

use base::error::{Error, Result};
use store::RelationPlace;

/// A pattern for places: a field, or the beginning of a path in it. `[*]` stands for every element.
///
/// Examples: `file_refs`, `items[*].content`, `front_matter.related`, `content`, `content#Guide`. A
/// pattern ends at the end of the path or before `.`, `[` or `#`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlacePattern(String);

impl PlacePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is empty.
    pub fn parse(text: &str) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::argument("fields", "hold an empty path"));
        }
        Ok(Self(text.trim().to_owned()))
    }

    /// Whether a place matches.
    pub fn fits(&self, place: &RelationPlace) -> bool {
        let path = place.full_path();
        let mut rest = path.as_str();
        for (count, literal) in self.0.split("[*]").enumerate() {
            if count > 0 {
                let Some(after) = element(rest) else { return false };
                rest = after;
            }
            let Some(after) = rest.strip_prefix(literal) else { return false };
            rest = after;
        }
        rest.is_empty() || rest.starts_with(['.', '[', '#'])
    }
}

/// The text after a leading `[12]`.
fn element(text: &str) -> Option<&str> {
    let (index, rest) = text.strip_prefix('[')?.split_once(']')?;
    let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    is_index.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_it_begins() {
        let place = |field: &str, path: &str| RelationPlace {
            field: field.into(),
            path: path.into(),
            line: None,
            range: None,
        };
        let fits = |pattern: &str, field: &str, path: &str| {
            PlacePattern::parse(pattern).unwrap().fits(&place(field, path))
        };
        for (pattern, field, path, expected) in [
            ("file_refs", "file_refs", "file_refs[3]", true),
            ("file_refs[*]", "file_refs", "file_refs[3]", true),
            ("file_refs[2]", "file_refs", "file_refs[3]", false),
            ("file", "file_refs", "file_refs[3]", false),
            ("items[*].content", "items", "items[12].content", true),
            ("items[*].content", "items", "items[12].contents", false),
            ("items[*].message", "items", "items[1].message.content[0].id", true),
            ("content", "content", "Guide#Install", true),
            ("content#Guide", "content", "Guide#Install", true),
            ("content#Install", "content", "Guide#Install", false),
            ("content", "content", "", true),
            ("front_matter.related", "front_matter", "related[0]", true),
            ("related", "front_matter", "related[0]", false),
        ] {
            assert_eq!(fits(pattern, field, path), expected, "{pattern} {path}");
        }
        assert!(PlacePattern::parse(" ").is_err());
    }
}
