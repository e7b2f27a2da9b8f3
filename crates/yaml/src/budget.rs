//! Limits of alias expansion.

use crate::error::Error;

/// Steps of a walk, and those of them that aliases caused.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    steps: usize,
    alias_steps: usize,
    alias_bytes: usize,
}

/// How many bytes of text aliases may repeat. Go's values share a text that is repeated, ours copy it.
const MOST_BYTES: usize = 16 << 20;

/// The share of steps that may come from aliases: nearly all in a small document, a tenth in a
/// huge one. go-yaml's figures.
fn allowed_alias_share(steps: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let steps = steps as f64;
    0.99 - 0.89 * ((steps.clamp(LOW, HIGH) - LOW) / (HIGH - LOW))
}

impl Budget {
    /// Counts a step, and complains where aliases blow the document up.
    pub(crate) fn step(&mut self, in_alias: bool) -> Result<(), Error> {
        self.steps += 1;
        if !in_alias {
            return Ok(());
        }
        self.alias_steps += 1;
        if self.alias_steps > 100 && self.steps > 1000 {
            #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
            let share = self.alias_steps as f64 / self.steps as f64;
            if share > allowed_alias_share(self.steps) {
                return Err(Error::problem("document contains excessive aliasing"));
            }
        }
        Ok(())
    }

    /// Counts the text of a scalar where an alias repeats it.
    pub(crate) fn text(&mut self, in_alias: bool, bytes: usize) -> Result<(), Error> {
        if in_alias {
            self.alias_bytes = self.alias_bytes.saturating_add(bytes);
            if self.alias_bytes > MOST_BYTES {
                return Err(Error::problem("document contains excessive aliasing"));
            }
        }
        Ok(())
    }
}
