//! The embedded server answers as the real one did, but for a list of known differences.

use std::collections::BTreeSet;
use std::path::Path;

use sluice_conformance::{Golden, KnownDifferences, Report, Suite, Target, normalise, play};

/// The share of equal answers that the project promises.
const PROMISED: f64 = 0.97;

async fn report() -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let suite = Suite::read(&folder.join("scripts"), &[]).expect("the scripts can be read");
    let mut report = Report::default();
    for script in &suite.0 {
        let golden = Golden::read(&folder.join("goldens/1.35.4"), script).expect("a golden");
        match play(script, &Target::Embedded).await {
            Ok(exchanges) => {
                report.add(&script.id(), &golden, &normalise(&script.text, exchanges));
            }
            Err(error) => report.broken.push((script.id(), error.to_string())),
        }
    }
    report
}

#[tokio::test(start_paused = true)]
async fn the_embedded_server_differs_only_where_the_list_says_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let known = KnownDifferences::read(&folder.join("known-differences.txt")).expect("the list");
    let report = report().await;
    let found: BTreeSet<(&str, &str)> = report
        .outcomes
        .iter()
        .filter(|outcome| !outcome.differences.is_empty())
        .map(|outcome| (outcome.script.as_str(), outcome.title.as_str()))
        .collect();
    let listed: BTreeSet<(&str, &str)> = known.entries().collect();
    let new: Vec<_> = found.difference(&listed).collect();
    let healed: Vec<_> = listed.difference(&found).collect();
    let (equal, all) = report.equal();
    println!("{equal} of {all} answers equal");
    assert!(new.is_empty(), "{}\nnot on the list of known differences: {new:#?}", report.text());
    assert!(healed.is_empty(), "equal now, so take them off the list: {healed:#?}");
    assert!(report.broken.is_empty(), "not played to their end: {:#?}", report.broken);
    let (equal, all) = (u32::try_from(equal).expect("few"), u32::try_from(all).expect("few"));
    assert!(f64::from(equal) >= PROMISED * f64::from(all), "{equal} of {all}");
}
