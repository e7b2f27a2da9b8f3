//! The embedded server against the recorded answers of a real kube-apiserver.
//!
//! What differs is listed in `known-differences.txt`. The list only shrinks by hand: an answer that
//! differs and is not listed fails this test, and so does a listed one that has become equal.

use std::collections::BTreeSet;
use std::path::Path;

use sluice_conformance::{Golden, KnownDifferences, Report, Suite, Target, normalise, play};

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn answers_are_upstreams_but_for_the_listed_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let suite = Suite::read(&folder.join("scripts"), &[]).expect("the scripts are readable");
    let known = KnownDifferences::read(&folder.join("known-differences.txt"))
        .expect("the list of differences is readable");
    let mut report = Report::default();
    for script in &suite.0 {
        let golden = Golden::read(&folder.join("goldens/1.35.4"), script)
            .expect("every script has a golden; conformance/goldens/record makes it");
        let exchanges = play(script, &Target::Embedded).await.expect("the script can be played");
        report.add(&script.id(), &golden, &normalise(&script.text, exchanges));
    }
    let different: BTreeSet<(&str, &str)> = report
        .outcomes
        .iter()
        .filter(|outcome| !outcome.differences.is_empty())
        .map(|outcome| (outcome.script.as_str(), outcome.title.as_str()))
        .collect();
    let listed: BTreeSet<(&str, &str)> = known.entries().collect();
    let (equal, all) = report.equal();
    println!("{equal} of {all} answers equal, {} scripts", suite.0.len());
    let new: Vec<_> = different.difference(&listed).collect();
    assert!(new.is_empty(), "differ and are not listed: {new:#?}");
    let gone: Vec<_> = listed.difference(&different).collect();
    assert!(gone.is_empty(), "listed, but equal now (strike them off): {gone:#?}");
}
