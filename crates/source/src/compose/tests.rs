//! Copy steps: the cases of ArtifactGenerator's documentation, and others.

use bytes::Bytes;

use super::*;
use crate::archive::pack;
use crate::tree::Node;

fn tree(files: &[(&str, &str)]) -> SourceTree {
    files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned()))).collect()
}

fn sources() -> Sources {
    let mut git = tree(&[
        ("README.md", "readme"),
        ("chart/Chart.yaml", "name: chart"),
        ("chart/docs/a.md", "a"),
        ("chart/templates/d.yaml", "d"),
        ("chart/values.yaml", "a: 1\nb: {c: 2, d: 3}\nl: [1, 2]\n"),
        ("values/prod.yaml", "b: {c: 5}\nl: [3]\n"),
    ]);
    let packed = pack(&tree(&[("x/y.yaml", "y")]), |_, _| false).expect("an archive");
    for name in ["packed/one.tgz", "packed/deep/two.tar.gz"] {
        git.insert(name, Node::File { content: packed.clone(), executable: false })
            .expect("a path");
    }
    Sources::from([("git".to_owned(), Arc::new(git))])
}

fn step(from: &str, to: &str) -> CopyStep {
    CopyStep { from: from.to_owned(), to: to.to_owned(), ..CopyStep::default() }
}

/// The files that steps produce.
fn files(steps: &[CopyStep]) -> Result<Vec<String>, String> {
    let made = compose(steps, &sources()).map_err(|error| error.to_string())?;
    let files = made.iter().filter(|(_, node)| **node != Node::Directory);
    Ok(files.map(|(path, _)| path.to_owned()).collect())
}

#[test]
fn copying_is_as_cp_does_it() {
    let chart = ["Chart.yaml", "docs/a.md", "templates/d.yaml", "values.yaml"];
    let below = |prefix: &str| chart.map(|name| format!("{prefix}{name}")).to_vec();
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (from, to, expected) in [
        ("@git/chart", "@artifact/", below("chart/")),
        ("@git/chart", "@artifact/x", below("x/chart/")),
        ("@git/chart/", "@artifact/x/", below("x/chart/")),
        ("@git/chart/**", "@artifact/", below("")),
        ("@git/chart/*", "@artifact/x", below("x/chart/")),
        ("@git/chart/*.yaml", "@artifact/", own(&["chart/Chart.yaml", "chart/values.yaml"])),
        ("@git/README.md", "@artifact/", own(&["README.md"])),
        ("@git/README.md", "@artifact/a/b.txt", own(&["a/b.txt"])),
        ("@git/README.md", "@artifact/a/", own(&["a/README.md"])),
        ("@git/values/prod.yaml", "@artifact/v.yaml", own(&["v.yaml"])),
    ] {
        assert_eq!(files(&[step(from, to)]), Ok(expected), "{from} {to}");
    }
    assert_eq!(files(&[step("@git/", "@artifact/")]).expect("all").len(), 8);
    let into = [step("@git/chart", "@artifact/"), step("@git/README.md", "@artifact/chart")];
    assert!(files(&into).expect("files").contains(&"chart/README.md".to_owned()));
}

#[test]
fn what_is_excluded_stays_out() {
    let without = |exclude: &[&str], from: &str| {
        let exclude = exclude.iter().map(|it| (*it).to_owned()).collect();
        files(&[CopyStep { exclude, ..step(from, "@artifact/") }]).expect("files").join(" ")
    };
    assert_eq!(without(&["*.md"], "@git/chart/**"), "Chart.yaml templates/d.yaml values.yaml");
    assert_eq!(without(&["docs/**"], "@git/chart/**"), "Chart.yaml templates/d.yaml values.yaml");
    assert_eq!(
        without(&["docs"], "@git/chart"),
        "chart/Chart.yaml chart/templates/d.yaml chart/values.yaml"
    );
    assert_eq!(without(&["chart/{docs,templates}/**"], "@git/chart/**"), "Chart.yaml values.yaml");
    assert_eq!(without(&["*.md"], "@git/README.md"), "");
}

#[test]
fn values_are_merged_and_archives_unpacked() {
    let merge = CopyStep {
        strategy: Strategy::Merge,
        ..step("@git/values/prod.yaml", "@artifact/chart/values.yaml")
    };
    let made =
        compose(&[step("@git/chart", "@artifact/"), merge.clone()], &sources()).expect("made");
    let text = made.read("chart/values.yaml").expect("values");
    assert_eq!(text, "a: 1\nb:\n  c: 5\n  d: 3\nl:\n- 3\n");
    let alone = compose(&[merge], &sources()).expect("made");
    assert_eq!(alone.read("chart/values.yaml").expect("values"), "b: {c: 5}\nl: [3]\n", "as it is");
    let extract = |from| CopyStep { strategy: Strategy::Extract, ..step(from, "@artifact/out") };
    assert_eq!(files(&[extract("@git/packed/one.tgz")]), Ok(vec!["out/x/y.yaml".to_owned()]));
    assert_eq!(files(&[extract("@git/**/*.tar.gz")]), Ok(vec!["out/x/y.yaml".to_owned()]));
    assert_eq!(files(&[extract("@git/**")]), Ok(vec!["out/x/y.yaml".to_owned()]));
}

#[test]
fn what_cannot_be_done_is_said() {
    let extract = |from| CopyStep { strategy: Strategy::Extract, ..step(from, "@artifact/") };
    let bad = CopyStep { exclude: vec!["[".to_owned()], ..step("@git/chart", "@artifact/") };
    let not_yaml = CopyStep { strategy: Strategy::Merge, ..step("@git/README.md", "@artifact/a") };
    let over = [
        step("@git/chart", "@artifact/"),
        step("@git/values/prod.yaml", "@artifact/chart/docs/a.md/x"),
    ];
    for (steps, words) in [
        (vec![step("git/chart", "@artifact/")], "source must start with '@'"),
        (vec![step("@git", "@artifact/")], "source format must be '@alias/pattern'"),
        (vec![step("@git/chart", "chart")], "destination must start with '@artifact/'"),
        (vec![step("@other/chart", "@artifact/")], "source alias 'other' not found"),
        (vec![step("@git/none", "@artifact/")], "source 'none' does not exist"),
        (
            vec![step("@git/*.none", "@artifact/")],
            "no files match pattern '*.none' in source 'git'",
        ),
        (vec![step("@git/[", "@artifact/")], "invalid glob pattern '[': syntax error in pattern"),
        (vec![step("@git/../x", "@artifact/")], "path escapes from parent"),
        (vec![step("@git/chart", "@artifact/../x")], "path escapes from parent"),
        (
            vec![extract("@git/chart")],
            "extract strategy is not supported for directories, got 'chart'",
        ),
        (
            vec![extract("@git/README.md")],
            "extract strategy requires tarball file (.tar.gz or .tgz), got 'README.md'",
        ),
        (vec![bad], "invalid exclude pattern '['"),
        (vec![not_yaml.clone(), not_yaml], "cannot unmarshal YAML document"),
        (over.to_vec(), "chart/docs/a.md/x"),
    ] {
        let error = files(&steps).expect_err(words);
        assert!(
            error.starts_with(
                "failed to apply copy operations: failed to apply copy operation from "
            )
        );
        assert!(error.contains(words), "{error}");
    }
}
