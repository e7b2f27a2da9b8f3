//! Generated cases: the trees of the original's tests and our own with one to four mutations. The same seed gives
//! the same cases.

mod fields;
mod flow;
mod patches;
mod pool;
mod random;
mod schemas;
mod structure;
mod values;
mod world;

use crate::case::{Case, Request};
pub(crate) use random::Random;
use world::World;
pub(crate) use world::{FILE_NAMES, read};

type Mutation = fn(&mut Request, &World, &mut Random) -> Option<()>;

/// The mutations with their names and how often each is chosen.
const MUTATIONS: [(&str, usize, Mutation); 31] = [
    ("reorder", 4, structure::reorder),
    ("overlay", 5, structure::overlay),
    ("duplicate", 4, structure::duplicate),
    ("component", 4, structure::component),
    ("new-object", 6, structure::new_object),
    ("drop-file", 1, structure::drop_file),
    ("reformat", 3, structure::reformat),
    ("prefix", 4, fields::prefix),
    ("suffix", 3, fields::suffix),
    ("namespace", 4, fields::namespace),
    ("labels", 5, fields::labels),
    ("annotations", 3, fields::annotations),
    ("images", 4, fields::images),
    ("replicas", 2, fields::replicas),
    ("sort-options", 2, fields::sort_options),
    ("build-metadata", 2, fields::build_metadata),
    ("remove-field", 2, fields::remove_field),
    ("configurations", 2, fields::configurations),
    ("transformer", 4, fields::transformer),
    ("generator", 5, fields::generator),
    ("generator-options", 2, fields::generator_options),
    ("patch-merge", 9, patches::merge),
    ("patch-json", 6, patches::json6902),
    ("patch-target", 2, patches::retarget),
    ("replacement", 5, flow::replacement),
    ("var", 3, flow::var),
    ("openapi", 1, schemas::openapi),
    ("crds", 1, schemas::definitions),
    ("scalar", 6, values::scalar),
    ("rename", 2, values::rename),
    ("mark", 2, values::mark),
];

/// A generated case.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The case it was made from.
    pub(crate) origin: String,
    /// What was done to it, in order.
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) request: Request,
}

/// Makes the case of a number.
pub(crate) fn mutant(origins: &[&Case], seed: u64, number: u64) -> Mutant {
    let mut random = Random::of(seed, number);
    let mut made = Mutant { origin: String::new(), kinds: Vec::new(), request: Request::default() };
    // Some trees have nothing that a mutation could change; then another one is taken.
    while made.kinds.is_empty() {
        let Some(case) = random.pick(origins) else { return made };
        made.origin = case.id();
        made.request.clone_from(&case.request);
        made.request.root = case.request.absolute_root();
        for _ in 0..=random.below(4) {
            let (kind, mutation) = choose(&mut random);
            let mut changed = made.request.clone();
            let world = World::of(&changed);
            if mutation(&mut changed, &world, &mut random).is_some() {
                made.request = changed;
                made.kinds.push(kind);
            }
        }
    }
    made
}

fn choose(random: &mut Random) -> (&'static str, Mutation) {
    let sum = MUTATIONS.iter().map(|(_, weight, _)| weight).sum();
    let mut rest = random.below(sum);
    for (kind, weight, mutation) in MUTATIONS {
        match rest.checked_sub(weight) {
            Some(less) => rest = less,
            None => return (kind, mutation),
        }
    }
    ("reorder", structure::reorder)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MUTATIONS, mutant};
    use crate::case::{Answer, Case, Request};

    fn case() -> Case {
        let files = [
            (
                "/base/kustomization.yaml",
                "resources: [web.yaml, map.yaml]\npatches:\n- path: p.yaml\n",
            ),
            ("/base/p.yaml", "kind: Deployment\napiVersion: apps/v1\nmetadata:\n  name: web\n"),
            (
                "/base/web.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: main\n        image: nginx\n",
            ),
            (
                "/base/map.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  a: b\n",
            ),
            ("/top/kustomization.yaml", "resources: [../base]\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Case {
            suite: "own".to_owned(),
            name: "one".to_owned(),
            request: Request { files: files.into(), root: "top".to_owned(), ..Request::default() },
            answer: Answer::default(),
            out: String::new(),
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_cases_and_all_kinds() {
        let case = case();
        let mut kinds = BTreeSet::new();
        for number in 0..2000 {
            let one = mutant(&[&case], 7, number);
            assert_eq!(one.request, mutant(&[&case], 7, number).request);
            assert_ne!(one.request, case.request);
            kinds.extend(one.kinds);
        }
        let all: BTreeSet<_> = MUTATIONS.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(kinds, all);
    }
}
