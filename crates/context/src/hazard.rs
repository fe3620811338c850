//! The hazard of an output or step: how likely a call needs it. Two small log-linear models over
//! features known at the call; their weights are data.
//!
//! Pure. The same inputs give the same hazard on every machine, because powers and logarithms are
//! computed in software. Must not decide anything. docs/policy.md explains the choice of features.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use session::{OutputClass, Session};

/// The built-in weights, learned from recorded sessions with `palimpsest learn` and made more
/// cautious (docs/policy.md).
const SHIPPED: &str = include_str!("hazards.json");

/// Version of the format.
const VERSION: u32 = 2;

/// Says how likely outputs and steps are needed again. In live use these are [`Hazards`]; a replay
/// may know the future.
pub trait Chances: fmt::Debug + Send + Sync {
    /// Chance that this call needs the output at a position; `None` if no tool result is there.
    fn of_output(&self, session: &Session, at: u64) -> Option<f64>;

    /// Chance that this call needs the model's own words in the step at these positions.
    fn of_step(&self, session: &Session, range: RangeInclusive<u64>) -> Option<f64>;

    /// How much more a fault weighs than its price.
    fn caution(&self) -> Caution;
}

/// Both models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hazards {
    /// Version of the format: 2.
    pub version: u32,
    /// How much more a fault weighs than its price.
    pub caution: Caution,
    /// Weights of an output's hazard.
    pub outputs: OutputWeights,
    /// Weights of a step's hazard.
    pub steps: StepWeights,
}

/// How much more a fault weighs than its price, because missing content costs more than tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Caution {
    /// For a fault on an output: the model must read or run something again.
    pub outputs: f64,
    /// For a fault on a step: the model's own words are gone, and it may not notice.
    pub steps: f64,
}

/// Weights of an output's hazard, each for one feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputWeights {
    /// Constant term.
    pub base: f64,
    /// Whether it shows lines of a file.
    pub read: f64,
    /// Whether it lists names of files.
    pub listing: f64,
    /// Logarithm of the session's late needs, see [`Session::late_needs`].
    pub late_needs: f64,
    /// Logarithm of 1 + the number of turns since it came.
    pub turns_since: f64,
    /// Logarithm of 1 + the number of steps since it came.
    pub steps_since: f64,
    /// Logarithm of 1 + its tokens.
    pub tokens: f64,
}

/// Weights of a step's hazard, each for one feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepWeights {
    /// Constant term.
    pub base: f64,
    /// Whether its arguments hold more than the fold line would show.
    pub long_arguments: f64,
    /// Logarithm of 1 + the number of tokens of such arguments.
    pub argument_tokens: f64,
    /// Logarithm of 1 + the number of steps since it came.
    pub steps_since: f64,
}

/// The features of an output at a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputFeatures {
    /// The kind of its text.
    pub class: OutputClass,
    /// The session's late needs, see [`Session::late_needs`].
    pub late_needs: f64,
    /// Number of turns since it came.
    pub turns_since: u32,
    /// Number of steps since it came.
    pub steps_since: u32,
    /// Its tokens, as the host gave it.
    pub tokens: u64,
}

/// The features of a step at a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFeatures {
    /// Tokens of its arguments that its fold line would not show.
    pub argument_tokens: u64,
    /// Number of steps since it came.
    pub steps_since: u32,
}

impl Hazards {
    /// The built-in weights.
    pub fn shipped() -> &'static Self {
        static PARSED: LazyLock<Hazards> = LazyLock::new(|| {
            // A test ensures that they parse. If they did not, everything would stay in the window.
            Hazards::parse(SHIPPED).unwrap_or(Hazards::ALWAYS)
        });
        &PARSED
    }

    /// Weights by which everything is always needed.
    const ALWAYS: Self = Self {
        version: VERSION,
        caution: Caution { outputs: 1.0, steps: 1.0 },
        outputs: OutputWeights {
            base: 0.0,
            read: 0.0,
            listing: 0.0,
            late_needs: 0.0,
            turns_since: 0.0,
            steps_since: 0.0,
            tokens: 0.0,
        },
        steps: StepWeights {
            base: 0.0,
            long_arguments: 0.0,
            argument_tokens: 0.0,
            steps_since: 0.0,
        },
    };

    /// Parses weights.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is not JSON of this form and version.
    pub fn parse(json: &str) -> Result<Self> {
        let hazards: Self = serde_json::from_str(json)
            .map_err(|error| Error::argument("hazards", format!("cannot be read: {error}")))?;
        if hazards.version != VERSION {
            return Err(Error::argument(
                "hazards",
                format!("have version `{}`, known is `{VERSION}`", hazards.version),
            ));
        }
        Ok(hazards)
    }

    /// Chance that a call needs an output: above 0, at most 1.
    pub fn of_output(&self, features: &OutputFeatures) -> f64 {
        chance(self.outputs.log_rate(features))
    }

    /// Chance that a call needs the model's own words in a step: above 0, at most 1.
    pub fn of_step(&self, features: &StepFeatures) -> f64 {
        chance(self.steps.log_rate(features))
    }
}

impl Chances for Hazards {
    fn of_output(&self, session: &Session, at: u64) -> Option<f64> {
        output_features(session, at).map(|features| Self::of_output(self, &features))
    }

    fn of_step(&self, session: &Session, range: RangeInclusive<u64>) -> Option<f64> {
        step_features(session, range).map(|features| Self::of_step(self, &features))
    }

    fn caution(&self) -> Caution {
        self.caution
    }
}

impl OutputWeights {
    /// Number of weights.
    pub const COUNT: usize = 7;

    /// The features as numbers, in the order of the weights.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn inputs(features: &OutputFeatures) -> [f64; Self::COUNT] {
        [
            1.0,
            f64::from(u8::from(features.class == OutputClass::Read)),
            f64::from(u8::from(features.class == OutputClass::Listing)),
            libm::log(features.late_needs),
            libm::log1p(f64::from(features.turns_since)),
            libm::log1p(f64::from(features.steps_since)),
            libm::log1p(features.tokens as f64),
        ]
    }

    /// The weights in order.
    pub fn to_array(self) -> [f64; Self::COUNT] {
        let Self { base, read, listing, late_needs, turns_since, steps_since, tokens } = self;
        [base, read, listing, late_needs, turns_since, steps_since, tokens]
    }

    /// Weights given in order.
    pub fn from_array(
        [base, read, listing, late_needs, turns_since, steps_since, tokens]: [f64; Self::COUNT],
    ) -> Self {
        Self { base, read, listing, late_needs, turns_since, steps_since, tokens }
    }

    fn log_rate(self, features: &OutputFeatures) -> f64 {
        dot(self.to_array(), Self::inputs(features))
    }
}

impl StepWeights {
    /// Number of weights.
    pub const COUNT: usize = 4;

    /// The features as numbers, in the order of the weights.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn inputs(features: &StepFeatures) -> [f64; Self::COUNT] {
        [
            1.0,
            f64::from(u8::from(features.argument_tokens > 0)),
            libm::log1p(features.argument_tokens as f64),
            libm::log1p(f64::from(features.steps_since)),
        ]
    }

    /// The weights in order.
    pub fn to_array(self) -> [f64; Self::COUNT] {
        [self.base, self.long_arguments, self.argument_tokens, self.steps_since]
    }

    /// Weights given in order.
    pub fn from_array([base, long, tokens, since]: [f64; Self::COUNT]) -> Self {
        Self { base, long_arguments: long, argument_tokens: tokens, steps_since: since }
    }

    fn log_rate(self, features: &StepFeatures) -> f64 {
        dot(self.to_array(), Self::inputs(features))
    }
}

/// The features of the output at a position; `None` if no tool result is there.
pub fn output_features(session: &Session, at: u64) -> Option<OutputFeatures> {
    let fact = session.result(at)?;
    let (chat, message) = (session.chat(), session.chat().get(at)?);
    Some(OutputFeatures {
        class: fact.class,
        late_needs: session.late_needs(),
        turns_since: chat.turn().saturating_sub(message.turn),
        steps_since: chat.step().saturating_sub(message.step),
        tokens: message.tokens,
    })
}

/// The features of the step at these positions.
pub fn step_features(session: &Session, range: RangeInclusive<u64>) -> Option<StepFeatures> {
    let steps_since = steps_since(session, *range.start())?;
    let results = range.filter_map(|at| session.result(at));
    let argument_tokens = results.map(|fact| fact.argument_tokens).sum();
    Some(StepFeatures { argument_tokens, steps_since })
}

/// Number of steps since the message at a position.
pub fn steps_since(session: &Session, at: u64) -> Option<u32> {
    let step = session.chat().get(at)?.step;
    Some(session.chat().step().saturating_sub(step))
}

fn chance(log_rate: f64) -> f64 {
    libm::exp(log_rate).min(1.0)
}

fn dot<const N: usize>(weights: [f64; N], inputs: [f64; N]) -> f64 {
    weights.iter().zip(inputs).map(|(weight, input)| weight * input).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(class: OutputClass) -> OutputFeatures {
        OutputFeatures { class, late_needs: 0.01, turns_since: 0, steps_since: 20, tokens: 1_000 }
    }

    #[test]
    fn the_shipped_weights_are_read() {
        let shipped = Hazards::parse(SHIPPED).unwrap();
        assert_eq!(&shipped, Hazards::shipped());
        assert!(shipped.caution.outputs >= 1.0 && shipped.caution.steps >= 1.0);
    }

    #[test]
    fn file_contents_are_needed_more_often_than_command_output() {
        let hazards = Hazards::shipped();
        let read = hazards.of_output(&output(OutputClass::Read));
        assert!(read > hazards.of_output(&output(OutputClass::Other)));
        assert!(read < 0.05);
    }

    #[test]
    fn steps_that_wrote_code_are_needed_more_often() {
        let hazards = Hazards::shipped();
        let step = |argument_tokens| StepFeatures { argument_tokens, steps_since: 30 };
        assert!(hazards.of_step(&step(400)) > hazards.of_step(&step(0)));
    }

    #[test]
    fn a_hazard_is_a_chance() {
        let mut hazards = Hazards::shipped().clone();
        hazards.outputs.base = 50.0;
        assert!((hazards.of_output(&output(OutputClass::Read)) - 1.0).abs() < f64::EPSILON);
        hazards.outputs.base = -500.0;
        assert!(hazards.of_output(&output(OutputClass::Read)) > 0.0);
    }

    #[test]
    fn other_forms_and_versions_are_refused() {
        for json in
            ["{}", "[]", "not JSON", &SHIPPED.replacen("\"version\": 2", "\"version\": 1", 1)]
        {
            assert_eq!(Hazards::parse(json).unwrap_err().code(), "INVALID_ARGUMENT", "{json}");
        }
    }
}
