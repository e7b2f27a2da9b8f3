//! Lines that are told once they are final, and one that is redrawn while it changes.
//!
//! On a terminal the live line is drawn over itself; in a pipe only final lines are written, one
//! event a line. Colour carries no meaning alone and is left out with `NO_COLOR` and in pipes.

use std::io::{IsTerminal as _, Write as _};

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Headings and names.
    Strong,
    /// Done, ready.
    Good,
    /// Refused, on purpose.
    Bad,
    /// What the eye may skip.
    Faint,
}

/// Standard output as a place for stories.
pub(crate) struct Screen {
    live: bool,
    colour: bool,
    drawn: bool,
}

impl Screen {
    /// Standard output as it is.
    pub(crate) fn stdout() -> Self {
        let live = std::io::stdout().is_terminal();
        let colour = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { live, colour, drawn: false }
    }

    /// A text in its tone.
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Strong => "1",
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Writes a final line, in place of the live one.
    pub(crate) fn line(&mut self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let clear = if self.drawn { "\r\u{1b}[2K" } else { "" };
        // A reader that went away ends the story early; there is nobody to tell.
        let _ = writeln!(stdout, "{clear}{text}");
        let _ = stdout.flush();
        self.drawn = false;
    }

    /// Draws the live line anew; nothing in a pipe.
    pub(crate) fn draw(&mut self, text: &str) {
        if !self.live {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        let _ = write!(stdout, "\r\u{1b}[2K{text}");
        let _ = stdout.flush();
        self.drawn = true;
    }
}

/// A bar of ten blocks.
pub(crate) fn bar(done: usize, of: usize) -> String {
    const WIDTH: usize = 10;
    let full = (done * WIDTH).checked_div(of).unwrap_or(WIDTH).min(WIDTH);
    format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_bar_is_ten_blocks_wide() {
        assert_eq!(super::bar(0, 3), "░░░░░░░░░░");
        assert_eq!(super::bar(1, 3), "███░░░░░░░");
        assert_eq!(super::bar(3, 3), "██████████");
        assert_eq!(super::bar(0, 0), "██████████");
    }
}
