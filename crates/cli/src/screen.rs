//! Terminal output: final lines, and live lines that are redrawn.
//!
//! On a terminal live lines are redrawn in place; in a pipe only final lines are written, one event per line. Colour alone
//! has no meaning and is omitted with `NO_COLOR` and in pipes.

use std::io::{IsTerminal as _, Write as _};

/// The role of a text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Headings and names.
    Strong,
    /// Done, ready.
    Good,
    /// Denied, on purpose.
    Bad,
    /// Less important.
    Faint,
}

/// Standard output with live lines.
pub(crate) struct Screen {
    live: bool,
    colour: bool,
    /// The number of live lines on the screen.
    drawn: usize,
}

impl Screen {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let live = std::io::stdout().is_terminal();
        let colour = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { live, colour, drawn: 0 }
    }

    /// A text in its colour.
    pub(crate) fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
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

    /// Whether live lines are visible.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Writes a final line, in place of the live ones.
    pub(crate) fn line(&mut self, text: &str) {
        self.settle(&[text.to_owned()]);
    }

    /// Writes final lines, in place of the live ones.
    pub(crate) fn settle(&mut self, lines: &[String]) {
        self.replace(lines);
        self.drawn = 0;
    }

    /// Redraws the live lines; nothing in a pipe.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if self.live {
            self.replace(lines);
            self.drawn = lines.len();
        }
    }

    fn replace(&self, lines: &[String]) {
        let mut text = String::new();
        if self.drawn > 0 {
            // Up to the first live line, and clear the rest.
            text = format!("\u{1b}[{}A\r\u{1b}[J", self.drawn);
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        let mut stdout = std::io::stdout().lock();
        // A closed output ends the command early.
        let _ = stdout.write_all(text.as_bytes());
        let _ = stdout.flush();
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
