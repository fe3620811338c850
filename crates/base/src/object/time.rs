//! Transaction numbers, timestamps, and points in a store's history.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a transaction. Orders the transactions of one store; means nothing in another.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TxId(pub i64);

impl fmt::Display for TxId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Wall-clock time in milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Parses a time in RFC 3339 (`2026-03-01T12:30:00Z`, `2026-03-01 12:30+01:00`; seconds and
    /// their fraction may be missing), or a date, which is its first moment in UTC. `None` for
    /// anything else.
    ///
    /// Digits beyond the millisecond are dropped. A time without `Z` or an offset is ambiguous and
    /// gives `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_at_checked(10)?;
        let days = days_of_date(date)?;
        if time.is_empty() {
            return Some(Self(days * 86_400_000));
        }
        let time = time.strip_prefix(['T', 't', ' '])?;
        let (clock, offset) = if let Some(clock) = time.strip_suffix(['Z', 'z']) {
            (clock, 0)
        } else {
            let (clock, offset) = time.split_at(time.rfind(['+', '-'])?);
            let minutes = ms_of_clock(&offset[1..])?;
            (clock, if offset.starts_with('-') { -minutes } else { minutes })
        };
        Some(Self(days * 86_400_000 + ms_of_clock(clock)? - offset))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.div_euclid(86_400_000);
        let ms = self.0.rem_euclid(86_400_000);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        let milli = ms % 1_000;
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

/// A point in a store's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The newest version.
    Latest,
    /// The newest version at or before a transaction.
    Tx(TxId),
    /// The newest version at or before a system time.
    Time(Timestamp),
}

impl fmt::Display for AsOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => formatter.write_str("at present"),
            Self::Tx(tx) => write!(formatter, "as of transaction {tx}"),
            Self::Time(time) => write!(formatter, "as of {time}"),
        }
    }
}

/// Days since 1970-01-01 to a proleptic Gregorian date (Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms").
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01 of `YYYY-MM-DD`; `None` if there is no such day.
fn days_of_date(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    // The inverse of `civil_from_days`, by the same source.
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    (civil_from_days(days) == (year, month, day)).then_some(days)
}

/// Milliseconds since midnight of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fff`.
fn ms_of_clock(clock: &str) -> Option<i64> {
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut ms = 0;
    let mut parts = clock.split(':');
    for (limit, unit) in [(24, 3_600_000), (60, 60_000), (60, 1_000)] {
        let Some(part) = parts.next() else {
            // Hours and minutes are required.
            return (unit == 1_000 && fraction == "0").then_some(ms);
        };
        let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = part.parse::<i64>().ok().filter(|number| is_number && *number < limit)?;
        ms += number * unit;
    }
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && !fraction.is_empty();
    let thousandths = format!("{fraction}00");
    (digits && parts.next().is_none()).then(|| Some(ms + thousandths[..3].parse::<i64>().ok()?))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_shows_rfc_3339() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(1_709_209_845_007).to_string(), "2024-02-29T12:30:45.007Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn what_is_shown_is_read() {
        for ms in [0, 1, -1, 1_709_209_845_007, -62_135_596_800_000, 253_402_300_799_999] {
            let time = Timestamp(ms);
            assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }

    #[test]
    fn times_are_read_with_their_offset_and_dates_in_utc() {
        let noon = Timestamp(1_709_208_000_000);
        for text in [
            "2024-02-29T12:00:00Z",
            "2024-02-29 12:00z",
            "2024-02-29T13:30:00.0009+01:30",
            "2024-02-29T07:00-05:00",
        ] {
            assert_eq!(Timestamp::parse(text), Some(noon), "{text}");
        }
        assert_eq!(Timestamp::parse("2024-02-29"), Some(Timestamp(1_709_164_800_000)));
    }

    #[test]
    fn what_is_no_moment_is_not_read() {
        for text in [
            "",
            "12",
            "yesterday",
            "2023-02-29",
            "2024-13-01",
            "2024-2-3",
            "2024-02-29T12:00",
            "2024-02-29T25:00Z",
            "2024-02-29T12Z",
            "2024-02-29T12:00:00.Z",
            "2024-02-29T12:00.5Z",
            "2024-02-29T12:00:00:00Z",
            "2024-02-29Z",
            "２０２４-02-29",
            "+024-02-29",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
