//! Colour, only where a person sees it.

use std::io::IsTerminal;

/// What a piece of text means, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It is as it should be.
    Good,
    /// It is not there yet.
    Waiting,
    /// It is wrong.
    Bad,
    /// It matters less than what stands beside it.
    Quiet,
    /// It is what the eye should find first.
    Strong,
}

/// Colours text, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Colour when standard output is a terminal and `NO_COLOR` is not set.
    pub fn detect() -> Self {
        Paint { on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    /// Never any colour.
    pub fn plain() -> Self {
        Paint { on: false }
    }

    /// The text in the tone's colour.
    pub fn tone(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Waiting => "33",
            Tone::Bad => "31",
            Tone::Quiet => "2",
            Tone::Strong => "1",
        };
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}
