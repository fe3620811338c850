//! The text form of queries, see [`Query::parse`]. Errors name the column and what was expected
//! there.

use serde_json::Number;
use strum::IntoEnumIterator;

use super::{Comparison, Condition, Glob, Literal, MAX_DEPTH, Order, Query, Test};
use crate::rules::escaped;
use base::error::{Error, Result};
use base::object::{FieldPath, Timestamp, is_reserved};

/// A syntax error: the byte offset, and what was expected there.
struct Misfit {
    offset: usize,
    pub expected: &'static str,
}

type Parsed<T> = std::result::Result<T, Misfit>;

/// Parses a whole query.
pub(super) fn query(text: &str) -> Result<Query> {
    let mut parser = Parser { text, offset: 0 };
    parser.query().map_err(|Misfit { offset, expected }| {
        let column = text[..offset].chars().count() + 1;
        let found: String =
            text[offset..].chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let found = if found.is_empty() { String::new() } else { format!(", found `{found}`") };
        Error::argument(
            "query",
            format!("is not clear at column {column}: expected {expected}{found}"),
        )
    })
}

struct Parser<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> Parser<'t> {
    fn query(&mut self) -> Parsed<Query> {
        let mut query = Query::default();
        self.space();
        if !self.rest().is_empty() && !self.at_clause() {
            query.condition = Some(self.any(0)?);
        }
        let (mut limited, mut skipped) = (false, false);
        loop {
            if query.order.is_empty() && self.word("order") {
                if !self.word("by") {
                    return self.misfit("`by`");
                }
                query.order = self.orders()?;
            } else if !limited && self.word("limit") {
                query.limit = Some(self.count()?);
                limited = true;
            } else if !skipped && self.word("offset") {
                query.offset = self.count()?;
                skipped = true;
            } else if self.rest().is_empty() {
                return Ok(query);
            } else {
                return self.misfit("`and`, `or`, `order by`, `limit`, `offset` or the end");
            }
        }
    }

    fn any(&mut self, depth: usize) -> Parsed<Condition> {
        let mut any = vec![self.all(depth)?];
        while self.word("or") {
            any.push(self.all(depth)?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
    }

    fn all(&mut self, depth: usize) -> Parsed<Condition> {
        let mut all = vec![self.one(depth)?];
        while self.word("and") {
            all.push(self.one(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn one(&mut self, depth: usize) -> Parsed<Condition> {
        if depth > MAX_DEPTH {
            return self.misfit("at most 32 levels of `not` and parentheses");
        }
        if self.word("not") {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.sign("(") {
            let inner = self.any(depth + 1)?;
            return if self.sign(")") { Ok(inner) } else { self.misfit("`and`, `or` or `)`") };
        }
        let field = self.field()?;
        if self.word("missing") {
            return Ok(Condition::Not(Box::new(Condition::Test(field, Test::Exists))));
        }
        Ok(Condition::Test(field, self.test()?))
    }

    fn test(&mut self) -> Parsed<Test> {
        for comparison in Comparison::iter() {
            if self.sign(comparison.into()) {
                return Ok(Test::Compare(comparison, self.literal()?));
            }
        }
        if self.sign("~") {
            let offset = self.offset;
            let glob = Glob::new(self.plain_text()?);
            let too_large = |_| Misfit { offset, expected: "a shorter pattern" };
            return Ok(Test::Glob(glob.map_err(too_large)?));
        }
        if self.word("starts_with") {
            return Ok(Test::StartsWith(self.plain_text()?));
        }
        if self.word("contains") {
            return Ok(Test::Contains(self.literal()?));
        }
        if self.word("exists") {
            return Ok(Test::Exists);
        }
        if self.word("in") {
            return Ok(Test::In(self.list()?));
        }
        self.misfit("`=`, `!=`, `<`, `<=`, `>`, `>=`, `~`, `contains`, `starts_with`, `in`, `exists` or `missing`")
    }

    fn list(&mut self) -> Parsed<Vec<Literal>> {
        if !self.sign("(") {
            return self.misfit("`(`");
        }
        let mut list = vec![self.literal()?];
        while self.sign(",") {
            list.push(self.literal()?);
        }
        if self.sign(")") { Ok(list) } else { self.misfit("`,` or `)`") }
    }

    fn orders(&mut self) -> Parsed<Vec<Order>> {
        let mut orders = Vec::new();
        loop {
            let field = self.field()?;
            let descending = self.word("desc");
            if !descending {
                self.word("asc");
            }
            orders.push(Order { field, descending });
            if !self.sign(",") {
                return Ok(orders);
            }
        }
    }

    fn field(&mut self) -> Parsed<FieldPath> {
        if is_reserved(self.peek_word()) {
            return self
                .misfit("a field (a name that is a word of the query language stands in quotes)");
        }
        let (field, length) = FieldPath::read(self.rest()).map_err(|misfit| Misfit {
            offset: self.offset + misfit.offset,
            expected: misfit.expected,
        })?;
        self.offset += length;
        self.space();
        Ok(field)
    }

    fn count(&mut self) -> Parsed<u64> {
        let digits = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        let Ok(count) = self.rest()[..digits].parse() else { return self.misfit("a number") };
        self.offset += digits;
        self.space();
        Ok(count)
    }

    fn plain_text(&mut self) -> Parsed<String> {
        let start = self.offset;
        if let Some(text) = self.quoted()? {
            return Ok(text);
        }
        let text = self.bare()?;
        if is_reserved(text) {
            return Err(Misfit { offset: start, expected: "a text" });
        }
        Ok(text.to_owned())
    }

    fn literal(&mut self) -> Parsed<Literal> {
        let start = self.offset;
        if let Some(text) = self.quoted()? {
            return Ok(Literal::Text(text));
        }
        let text = self.bare()?;
        if is_reserved(text) {
            let expected = "a value (a text that is a word of the query language stands in quotes)";
            return Err(Misfit { offset: start, expected });
        }
        Ok(match text {
            "null" => Literal::Null,
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            _ => match (serde_json::from_str::<Number>(text), Timestamp::parse(text)) {
                (Ok(number), _) => Literal::Number(number),
                (_, Some(time)) => Literal::Time(time, text.to_owned()),
                _ => Literal::Text(text.to_owned()),
            },
        })
    }

    /// Text up to white space, a comma or a parenthesis.
    fn bare(&mut self) -> Parsed<&'t str> {
        let ends = |c: char| c.is_whitespace() || ",()\"'".contains(c);
        let text = &self.rest()[..self.rest().find(ends).unwrap_or(self.rest().len())];
        if text.is_empty() {
            return self.misfit("a value");
        }
        self.offset += text.len();
        self.space();
        Ok(text)
    }

    /// Text in `"` or `'`, if a quote comes next.
    fn quoted(&mut self) -> Parsed<Option<String>> {
        let Some(quote) = self.rest().chars().next().filter(|c| "\"'".contains(*c)) else {
            return Ok(None);
        };
        let misfit = Misfit { offset: self.offset, expected: "a text that ends with its quote" };
        // As a JSON string: in `'` the escape `\'` is none of JSON's, and `"` needs one.
        let mut json = String::from("\"");
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((place, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, '\'')) => json.push('\''),
                    Some((_, escaped)) => json.extend(['\\', escaped]),
                    None => return Err(misfit),
                },
                c if c == quote => {
                    json.push('"');
                    let Ok(text) = serde_json::from_str(&json) else {
                        return self.misfit("a text with JSON's escapes");
                    };
                    self.offset += place + quote.len_utf8();
                    self.space();
                    return Ok(Some(text));
                }
                // Allowed here, but JSON needs an escape.
                c if c == '"' || c.is_control() => {
                    json.push_str(&escaped(c.encode_utf8(&mut [0; 4])));
                }
                c => json.push(c),
            }
        }
        Err(misfit)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.offset..]
    }

    fn space(&mut self) {
        self.offset = self.text.len() - self.rest().trim_start().len();
    }

    fn sign(&mut self, sign: &str) -> bool {
        let there = self.rest().starts_with(sign);
        if there {
            self.offset += sign.len();
            self.space();
        }
        there
    }

    /// The word that comes next: letters, digits and the other characters of a key.
    fn peek_word(&self) -> &'t str {
        let ends = |c: char| !c.is_alphanumeric() && !"_-$".contains(c);
        &self.rest()[..self.rest().find(ends).unwrap_or(self.rest().len())]
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.peek_word().eq_ignore_ascii_case(word);
        if there {
            self.offset += word.len();
            self.space();
        }
        there
    }

    fn at_clause(&self) -> bool {
        ["order", "limit", "offset"].iter().any(|word| self.peek_word().eq_ignore_ascii_case(word))
    }

    fn misfit<T>(&self, expected: &'static str) -> Parsed<T> {
        Err(Misfit { offset: self.offset, expected })
    }
}

#[cfg(test)]
mod tests;
