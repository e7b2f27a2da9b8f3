//! An error in one line, with the errors behind it: the outermost alone seldom says what happened.

use std::error::Error;

/// The text of an error and of those behind it, outermost first. What is said already is not repeated.
pub fn joined(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|it| it as &(dyn Error + 'static))
        }
    }

    #[test]
    fn causes_follow_and_are_not_repeated() {
        let last = Layer("connection refused", None);
        let middle = Layer("tcp: connection refused", Some(Box::new(last)));
        let first = Layer("client error (Connect)", Some(Box::new(middle)));
        assert_eq!(joined(&first), "client error (Connect): tcp: connection refused");
    }
}
