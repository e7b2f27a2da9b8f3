//! Values that never show in a log, an error or a debug print.

use std::fmt;

/// A value that prints as `[redacted]`; whoever needs it says so with [`Redacted::expose`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redacted<T>(T);

impl<T> Redacted<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// The value itself, for good.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Redacted<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl<T> From<T> for Redacted<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Redacted;

    #[test]
    fn a_debug_print_shows_nothing() {
        let hidden = Redacted::new("hunter2");
        assert_eq!(format!("{hidden:?} {:?}", Some(&hidden)), "[redacted] Some([redacted])");
        assert_eq!(*hidden.expose(), "hunter2");
    }
}
