//! The hazard of an output or step: how likely a call needs it. Two small log-linear models over
//! features known at the call; their weights are data.
//!
//! A feature is one row in the table of `outputs` or `steps`, and a weight of that name. Pure. The
//! same inputs give the same hazard on every machine, because powers and logarithms are computed in
//! software. Must not decide anything, or look at what comes after the call. docs/policy.md
//! explains the choice of features.

mod outputs;
mod steps;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use self::outputs::{OUTPUT_FEATURES, SeenOutput};
pub use self::steps::{STEP_FEATURES, SeenStep};
use base::error::{Error, Result};
use session::Session;

/// The built-in weights, learned from recorded sessions with `palimpsest learn`.
const SHIPPED: &str = include_str!("hazards.json");

/// Version of the format.
const VERSION: u32 = 3;

/// Number of features of an output.
pub const OUTPUT_COUNT: usize = OUTPUT_FEATURES.len();
/// Number of features of a step.
pub const STEP_COUNT: usize = STEP_FEATURES.len();

/// Says how likely outputs and steps are needed again. In live use these are [`Hazards`]; a replay
/// may know the future.
pub trait Chances: fmt::Debug + Send + Sync {
    /// Chance that this call needs the output at a position; `None` if no tool result is there.
    fn of_output(&self, session: &Session, at: u64) -> Option<f64>;

    /// Chance that this call needs the model's own words in the step at these positions.
    fn of_step(&self, session: &Session, range: RangeInclusive<u64>) -> Option<f64>;

    /// Whether these are no guesses. A need that is known weighs no more than its price.
    fn are_certain(&self) -> bool {
        false
    }
}

/// What a model looks at, as a number.
#[derive(Debug)]
pub struct Feature<T> {
    /// Name of its weight in the file.
    pub name: &'static str,
    /// Its value.
    pub of: fn(&T) -> f64,
}

/// Both models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WeightsFile", into = "WeightsFile")]
pub struct Hazards {
    /// What they were learned from, and how well they tell needed items from others.
    pub learned: LearnedFrom,
    /// Weights of an output's features, in the order of [`OUTPUT_FEATURES`].
    pub outputs: [f64; OUTPUT_COUNT],
    /// Weights of a step's features, in the order of [`STEP_FEATURES`].
    pub steps: [f64; STEP_COUNT],
}

/// What weights were learned from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LearnedFrom {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of calls in these sessions.
    pub calls: u64,
    /// The model of outputs.
    pub outputs: Quality,
    /// The model of steps.
    pub steps: Quality,
}

/// How well a model tells needed items from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quality {
    /// Number of needs in the sessions that it was learned from.
    pub needs: u64,
    /// Area under the curve on the test sessions: the chance that the model rates a needed item
    /// above one that is not needed. 0.5 is guessing, 1 never wrong. `None` if these sessions have
    /// no needs.
    pub auc: Option<f64>,
}

/// The form of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WeightsFile {
    version: u32,
    learned: LearnedFrom,
    outputs: BTreeMap<String, f64>,
    steps: BTreeMap<String, f64>,
}

impl Hazards {
    /// The built-in weights.
    pub fn shipped() -> &'static Self {
        static PARSED: LazyLock<Hazards> = LazyLock::new(|| {
            // A test ensures that they parse. If they did not, everything would stay in the window.
            Hazards::parse(SHIPPED).unwrap_or(Hazards {
                learned: LearnedFrom::default(),
                outputs: [0.0; OUTPUT_COUNT],
                steps: [0.0; STEP_COUNT],
            })
        });
        &PARSED
    }

    /// Parses weights.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is not JSON of this form and version.
    pub fn parse(json: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let unreadable = |error: serde_json::Error| {
            Error::argument("hazards", format!("cannot be read: {error}"))
        };
        let Versioned { version } = serde_json::from_str(json).map_err(unreadable)?;
        if version != VERSION {
            return Err(Error::argument(
                "hazards",
                format!(
                    "have version `{version}`, known is `{VERSION}`: `palimpsest learn` writes it"
                ),
            ));
        }
        serde_json::from_str(json).map_err(unreadable)
    }

    /// Chance that a call needs an output with these features: above 0, at most 1.
    pub fn of_output(&self, features: &[f64; OUTPUT_COUNT]) -> f64 {
        chance(&self.outputs, features)
    }

    /// Chance that a call needs the model's own words in a step with these features: above 0, at
    /// most 1.
    pub fn of_step(&self, features: &[f64; STEP_COUNT]) -> f64 {
        chance(&self.steps, features)
    }
}

impl Chances for Hazards {
    fn of_output(&self, session: &Session, at: u64) -> Option<f64> {
        let seen = SeenOutput::at(session, at)?;
        Some(Self::of_output(self, &seen.features()))
    }

    fn of_step(&self, session: &Session, range: RangeInclusive<u64>) -> Option<f64> {
        let seen = SeenStep::at(session, range)?;
        Some(Self::of_step(self, &seen.features()))
    }
}

impl TryFrom<WeightsFile> for Hazards {
    type Error = String;

    fn try_from(file: WeightsFile) -> std::result::Result<Self, String> {
        Ok(Self {
            learned: file.learned,
            outputs: weights("outputs", &OUTPUT_FEATURES, file.outputs)?,
            steps: weights("steps", &STEP_FEATURES, file.steps)?,
        })
    }
}

impl From<Hazards> for WeightsFile {
    fn from(hazards: Hazards) -> Self {
        Self {
            version: VERSION,
            learned: hazards.learned,
            outputs: named(&OUTPUT_FEATURES, hazards.outputs),
            steps: named(&STEP_FEATURES, hazards.steps),
        }
    }
}

/// The weights of these features, of which the file has each once and no others.
fn weights<T, const N: usize>(
    model: &str,
    features: &[Feature<T>; N],
    mut given: BTreeMap<String, f64>,
) -> std::result::Result<[f64; N], String> {
    let mut found = [0.0; N];
    for (weight, Feature { name, .. }) in found.iter_mut().zip(features) {
        *weight = given.remove(*name).ok_or_else(|| format!("no weight `{name}` of {model}"))?;
    }
    match given.keys().next() {
        Some(name) => Err(format!("unknown weight `{name}` of {model}")),
        None => Ok(found),
    }
}

/// The weights of these features by name.
fn named<T, const N: usize>(
    features: &[Feature<T>; N],
    weights: [f64; N],
) -> BTreeMap<String, f64> {
    features.iter().map(|feature| feature.name.to_owned()).zip(weights).collect()
}

/// The values of these features, in their order.
fn values<T, const N: usize>(features: &[Feature<T>; N], seen: &T) -> [f64; N] {
    features.each_ref().map(|feature| (feature.of)(seen))
}

fn chance<const N: usize>(weights: &[f64; N], features: &[f64; N]) -> f64 {
    let log_rate: f64 = weights.iter().zip(features).map(|(weight, value)| weight * value).sum();
    libm::exp(log_rate).min(1.0)
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Logarithm of 1 + a count.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn log_count(count: impl Into<u64>) -> f64 {
    libm::log1p(count.into() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features with these values; all others are 0.
    fn features<const N: usize>(names: [&str; N], values: &[(&str, f64)]) -> [f64; N] {
        for (name, _) in values {
            assert!(names.contains(name), "{name}");
        }
        names.map(|name| values.iter().find(|(of, _)| *of == name).map_or(0.0, |(_, value)| *value))
    }

    fn output(values: &[(&str, f64)]) -> f64 {
        let names = OUTPUT_FEATURES.each_ref().map(|one| one.name);
        let aged = [("base", 1.0), ("lateNeeds", -4.6), ("stepsSince", 3.0), ("tokens", 6.9)];
        Hazards::shipped().of_output(&features(names, &[&aged, values].concat()))
    }

    fn step(values: &[(&str, f64)]) -> f64 {
        let names = STEP_FEATURES.each_ref().map(|one| one.name);
        let aged = [("base", 1.0), ("stepsSince", 3.4), ("lateOwnNeeds", -4.6)];
        Hazards::shipped().of_step(&features(names, &[&aged, values].concat()))
    }

    #[test]
    fn the_shipped_weights_are_read_and_written() {
        let shipped = Hazards::parse(SHIPPED).unwrap();
        assert_eq!(&shipped, Hazards::shipped());
        let written = serde_json::to_string(&shipped).unwrap();
        assert_eq!(Hazards::parse(&written).unwrap(), shipped);
        assert!(shipped.learned.sessions > 0 && shipped.learned.outputs.auc > Some(0.8));
    }

    #[test]
    fn files_are_needed_more_often_than_what_commands_print() {
        assert!(output(&[("read", 1.0)]) > output(&[]));
        assert!(output(&[("read", 1.0)]) < 0.05);
    }

    #[test]
    fn what_was_needed_before_is_needed_more_often() {
        assert!(output(&[("timesNeeded", 1.1)]) > 3.0 * output(&[]));
        assert!(step(&[("timesNeeded", 1.1)]) > step(&[]));
    }

    #[test]
    fn steps_that_edited_a_file_are_needed_more_often() {
        let long = ("argumentTokens", 6.0);
        assert!(step(&[long]) > step(&[]));
        assert!(step(&[long, ("edit", 1.0)]) > step(&[long]));
    }

    #[test]
    fn a_hazard_is_a_chance() {
        let mut hazards = Hazards::shipped().clone();
        let names = OUTPUT_FEATURES.each_ref().map(|one| one.name);
        let base = features(names, &[("base", 1.0)]);
        hazards.outputs = base.map(|value| 50.0 * value);
        assert!((hazards.of_output(&base) - 1.0).abs() < f64::EPSILON);
        hazards.outputs = base.map(|value| -500.0 * value);
        assert!(hazards.of_output(&base) > 0.0);
    }

    #[test]
    fn other_forms_and_versions_are_refused() {
        let without = SHIPPED.replacen("\"listing\"", "\"colour\"", 1);
        for (json, what) in [
            ("{}", "version"),
            ("[]", "invalid"),
            ("not JSON", "cannot be read"),
            (&SHIPPED.replacen("\"version\": 3", "\"version\": 2", 1), "version `2`"),
            (&without, "listing"),
        ] {
            let error = Hazards::parse(json).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT", "{json}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
