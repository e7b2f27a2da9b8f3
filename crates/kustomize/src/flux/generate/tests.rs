//! Trees and overrides, and the files they give.

use sluice_api::shared::kustomize::{Image, Patch, Selector};

use super::{Generated, Overrides, generate};
use crate::flux::secure::SecureTree;
use crate::tree::{FileTree as _, MemoryTree};

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

fn run(files: &[(&str, &str)], overrides: &Overrides) -> Result<Generated, String> {
    let mut tree = MemoryTree::default();
    tree.make_directories("/src/app");
    for (path, text) in files {
        tree.insert(format!("/src/app/{path}"), *text);
    }
    let tree = SecureTree::new(&tree, "/src").expect("the root is there");
    generate(&tree, "/src/app", overrides, None).map_err(|failure| failure.to_string())
}

fn body(generated: &Generated) -> &str {
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\n";
    generated.text.strip_prefix(head).unwrap_or(&generated.text)
}

#[test]
fn a_missing_file_names_what_is_there() {
    let files = [
        ("b.yaml", OBJECT),
        ("a/deep/x.yml", OBJECT),
        ("notes.txt", "x"),
        ("base/kustomization.yml", "resources: [x.yaml]"),
        ("base/x.yaml", "broken: ["),
    ];
    let generated = run(&files, &Overrides::default()).expect("it is fine");
    assert!(generated.is_created);
    assert_eq!(
        body(&generated),
        "kind: Kustomization\nresources:\n- ./a/deep/x.yml\n- ./b.yaml\n- ./base\n"
    );
    let wrong = run(&[("x.yaml", "a: b\n")], &Overrides::default()).expect_err("it is no object");
    assert!(
        wrong.starts_with(
            "/src/app/x.yaml:1:1: failed to decode Kubernetes YAML from /src/app/x.yaml: "
        ),
        "{wrong}"
    );
    let nothing = run(&[], &Overrides::default()).expect("it is fine");
    assert_eq!(body(&nothing), "kind: Kustomization\nnamespace: _placeholder\n");
}

#[test]
fn every_file_that_holds_no_object_is_named_with_its_place() {
    let mut tree = MemoryTree::default();
    for (path, text) in
        [("a.yaml", "a: b\n"), ("b.yaml", OBJECT), ("c.yml", "\nkind: [\n"), ("d/e.yaml", "x\n")]
    {
        tree.insert(format!("/src/app/{path}"), text);
    }
    let tree = SecureTree::new(&tree, "/src").expect("the root is there");
    let wrong = generate(&tree, "/src/app", &Overrides::default(), None).expect_err("three files");
    let files: Vec<Option<&str>> = wrong.diagnostics().map(|it| it.file.as_deref()).collect();
    let all = ["/src/app/a.yaml", "/src/app/c.yml", "/src/app/d/e.yaml"];
    assert_eq!(files, all.map(Some));
    let words = wrong.words();
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(lines.len(), 3, "{words}");
    for (line, file) in lines.iter().zip(all) {
        assert!(line.starts_with(&format!("failed to decode Kubernetes YAML from {file}: ")));
        assert!(line.contains(&format!(" ({file}:")) && line.ends_with(')'), "{line}");
    }
}

#[test]
fn the_root_of_an_artifact_is_a_directory_like_others() {
    let mut tree = MemoryTree::default();
    tree.insert("/a.yaml", OBJECT);
    tree.insert("/deep/b.yaml", OBJECT);
    let tree = SecureTree::new(&tree, "/").expect("the root is there");
    let generated = generate(&tree, "/", &Overrides::default(), None).expect("it is fine");
    assert_eq!(body(&generated), "kind: Kustomization\nresources:\n- ./a.yaml\n- ./deep/b.yaml\n");
    let names = generated.over(&tree).list("/").expect("the root is there");
    assert_eq!(names, ["a.yaml", "deep", "kustomization.yaml"]);
}

#[test]
fn a_file_is_read_leniently_and_written_again() {
    let file = "Resources: [a.yaml]\nunknown: 1\nimages:\n- {name: web, newTag: 1.10}\nreplicas:\n- name: web\n";
    let generated = run(&[("kustomization.yml", file)], &Overrides::default()).expect("it is fine");
    assert_eq!(
        (generated.path.as_str(), generated.is_created),
        ("/src/app/kustomization.yml", false)
    );
    assert_eq!(
        body(&generated),
        "images:\n- name: web\n  newTag: \"1.1\"\nkind: Kustomization\nreplicas:\n- count: 0\n  name: web\nresources:\n- a.yaml\n"
    );
    let none = run(&[("kustomization.yaml", "namespace: a")], &Overrides::default());
    assert_eq!(
        body(&none.expect("it is fine")),
        "buildMetadata:\n- originAnnotations\nkind: Kustomization\nnamespace: a\n"
    );
    let wrong = run(&[("kustomization.yaml", "resources: {}")], &Overrides::default());
    assert_eq!(
        wrong,
        Err("/src/app/kustomization.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go struct field Kustomization.resources of type []string".to_owned())
    );
}

#[test]
fn overrides_are_merged() {
    let file = "resources: [a.yaml]\nnamespace: old\nimages:\n- {name: web, newName: mine, digest: 'sha256:1'}\npatches:\n- {path: p.yaml}\n";
    let some = |text: &str| Some(text.to_owned());
    let selector = Selector { kind: some("Deployment"), ..Selector::default() };
    let overrides = Overrides {
        target_namespace: some("new"),
        name_prefix: some("p-"),
        patches: vec![Patch { patch: "x".to_owned(), target: Some(selector), ..Patch::default() }],
        images: vec![
            Image { name: "web".to_owned(), new_tag: some("2"), ..Image::default() },
            Image { name: "db".to_owned(), digest: some("sha256:2"), ..Image::default() },
        ],
        components: vec!["../shared".to_owned(), "gone".to_owned()],
        ignore_missing_components: true,
        build_metadata: vec!["originAnnotations".to_owned()],
        ..Overrides::default()
    };
    let files = [("kustomization.yaml", file)];
    let generated = run(&files, &overrides).expect("it is fine");
    assert_eq!(
        body(&generated),
        "buildMetadata:\n- originAnnotations\nimages:\n- name: web\n  newName: mine\n  newTag: \"2\"\n- digest: sha256:2\n  name: db\nkind: Kustomization\nnamePrefix: p-\nnamespace: new\npatches:\n- path: p.yaml\n- patch: x\n  target:\n    kind: Deployment\nresources:\n- a.yaml\n"
    );
    let remote =
        Overrides { components: vec!["https://x.org/y".to_owned()], ..Overrides::default() };
    assert_eq!(
        run(&files, &remote),
        Err("component path 'https://x.org/y' must be local and relative".to_owned())
    );
}

#[test]
fn the_file_lies_over_the_artifact() {
    let mut tree = MemoryTree::default();
    tree.insert("/src/b.yaml", OBJECT);
    let secure = SecureTree::new(&tree, "/src").expect("the root is there");
    let generated = generate(&secure, "/src", &Overrides::default(), None).expect("it is fine");
    let over = generated.over(&secure);
    assert_eq!(
        over.list("/src").as_deref(),
        Ok(["b.yaml", "kustomization.yaml"].map(str::to_owned).as_slice())
    );
    assert_eq!(over.read("/src/kustomization.yaml").as_deref(), Ok(generated.text.as_bytes()));
    assert_eq!(over.resolve("/src/kustomization.yaml").as_deref(), Ok("/src/kustomization.yaml"));
    assert_eq!(secure.entry("/src/kustomization.yaml"), None);
}
