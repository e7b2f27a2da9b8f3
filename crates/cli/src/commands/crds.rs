//! `sluice crds`: the CustomResourceDefinitions of Flux and Flux Operator.

use std::io::{ErrorKind, Write};

use crate::outcome::{Failure, Outcome};

/// Prints the CRDs as YAML documents.
pub(crate) fn run() -> Result<Outcome, Failure> {
    match write(&mut std::io::stdout().lock()) {
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Outcome::Fine),
        Err(error) => Err(Failure::caused("cannot write the CRDs", error)),
        Ok(()) => Ok(Outcome::Fine),
    }
}

fn write(out: &mut impl Write) -> std::io::Result<()> {
    for crd in sluice_api::crds() {
        write!(out, "---\n{}", sluice_yaml::from_json(&crd))?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use sluice_yaml::Duplicates;

    #[test]
    fn the_printed_documents_are_the_crds() {
        let mut out = Vec::new();
        super::write(&mut out).unwrap();
        let read = sluice_yaml::documents_to_json(&out, Duplicates::Reject).unwrap();
        assert_eq!(read, sluice_api::crds());
    }
}
