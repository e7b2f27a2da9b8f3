//! The formats of SOPS, with readers and writers for the common tree.

mod binary;
mod dotenv;
mod ini;
mod json;
mod yaml;

use std::fmt;

use crate::tree::Branch;

/// A document format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Any file, as one value in a JSON object.
    Binary,
    /// Lines of `NAME=value`.
    Dotenv,
    /// Sections of `name = value`.
    Ini,
    /// A JSON object.
    Json,
    /// YAML documents that are mappings.
    Yaml,
}

/// Where a format keeps metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metadatas {
    /// Below `sops`.
    Nested,
    /// Below `sops`, with flat names.
    FlatInside,
    /// At the top level, with flat names that start with `sops_`.
    FlatAtTop,
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Binary => "binary",
            Self::Dotenv => "dotenv",
            Self::Ini => "INI",
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}

impl Format {
    /// The format of a file name, as in Flux.
    pub fn of_path(path: &str) -> Self {
        let ends = |ending| path.ends_with(ending);
        if ends(".dockerconfigjson") || ends(".json") {
            Self::Json
        } else if ends(".yaml") || ends(".yml") {
            Self::Yaml
        } else if ends(".env") {
            Self::Dotenv
        } else if ends(".ini") {
            Self::Ini
        } else {
            Self::Binary
        }
    }

    /// A text that every encrypted document of the format contains, and hardly any other.
    const fn marker(self) -> &'static [u8] {
        match self {
            Self::Binary | Self::Json => b"\"mac\": \"ENC[",
            Self::Dotenv => b"sops_mac=ENC[",
            Self::Ini => b"[sops]",
            Self::Yaml => b"mac: ENC[",
        }
    }

    /// Whether a text looks like an encrypted document of this format.
    pub fn marks(self, text: &[u8]) -> bool {
        let marker = self.marker();
        text.windows(marker.len()).any(|window| window == marker)
    }

    /// Detects the format of an encrypted document.
    pub fn detect(text: &[u8]) -> Option<Self> {
        let all = [Self::Json, Self::Dotenv, Self::Ini, Self::Yaml];
        all.into_iter().find(|format| format.marks(text))
    }

    pub(crate) const fn metadatas(self) -> Metadatas {
        match self {
            Self::Binary | Self::Json | Self::Yaml => Metadatas::Nested,
            Self::Ini => Metadatas::FlatInside,
            Self::Dotenv => Metadatas::FlatAtTop,
        }
    }

    pub(crate) fn load(self, text: &[u8]) -> Result<Vec<Branch>, String> {
        match self {
            Self::Binary | Self::Json => json::load(text),
            Self::Dotenv => dotenv::load(text),
            Self::Ini => ini::load(text),
            Self::Yaml => yaml::load(text),
        }
    }

    pub(crate) fn emit(self, branches: &[Branch]) -> Result<Vec<u8>, String> {
        match self {
            Self::Binary => binary::emit(branches),
            Self::Dotenv => dotenv::emit(branches),
            Self::Ini => ini::emit(branches),
            Self::Json => json::emit(branches),
            Self::Yaml => yaml::emit(branches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn the_name_determines_the_format() {
        for (path, format) in [
            ("a.yaml", Format::Yaml),
            ("b/a.yml", Format::Yaml),
            ("a.json", Format::Json),
            (".dockerconfigjson", Format::Json),
            ("a.env", Format::Dotenv),
            ("a.ini", Format::Ini),
            ("a.yaml.enc", Format::Binary),
            ("", Format::Binary),
        ] {
            assert_eq!(Format::of_path(path), format, "{path}");
        }
    }

    #[test]
    fn the_text_determines_the_format() {
        assert_eq!(Format::detect(b"a: b\nsops:\n    mac: ENC[x]"), Some(Format::Yaml));
        assert_eq!(Format::detect(b"sops_mac=ENC[x]"), Some(Format::Dotenv));
        assert_eq!(Format::detect(b"{\"mac\": \"ENC[x\"}"), Some(Format::Json));
        assert_eq!(Format::detect(b"[sops]\n"), Some(Format::Ini));
        assert_eq!(Format::detect(b"plain"), None);
    }

    #[test]
    fn broken_texts_are_refused_and_never_panic() {
        let texts: [&[u8]; 12] = [
            b"",
            b"{",
            b"[",
            b"\xff\xfe",
            b"a: *b",
            b"a: &a [*a]",
            b"- a",
            b"a",
            b"[x\n=1",
            b"=1",
            b"a = \"\"\"b",
            b"{\"a\": 1e999}",
        ];
        for text in texts {
            for format in [Format::Binary, Format::Dotenv, Format::Ini, Format::Json, Format::Yaml]
            {
                if let Ok(branches) = format.load(text) {
                    for to in
                        [Format::Binary, Format::Dotenv, Format::Ini, Format::Json, Format::Yaml]
                    {
                        let _ = to.emit(&branches);
                    }
                }
            }
        }
    }

    #[test]
    fn aliases_that_grow_without_end_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(10);
            text.extend([format!("a{level}: &a{level} [{before}]\n")]);
        }
        Format::Yaml.load(text.as_bytes()).expect_err("it would be 10^12 values");
    }
}
