//! The engine's side of a comparison.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sluice_kustomize::{LoadRestrictor, Options, Reorder, build};

use crate::case::{Answer, Request};

/// Builds with the engine, in both orders.
pub(crate) fn answer(request: &Request) -> Answer {
    let tree = request.tree();
    let root = request.absolute_root();
    let load_restrictor = match request.options.load_restrictor.as_str() {
        "none" => LoadRestrictor::None,
        _ => LoadRestrictor::RootOnly,
    };
    let run = |reorder| {
        let options = Options {
            reorder,
            load_restrictor,
            managed_by_label: request.options.managed_by_label,
            ..Options::default()
        };
        let built = catch_unwind(AssertUnwindSafe(|| build(&tree, &root, &options)));
        match built {
            Ok(Ok(build)) => Ok(build.to_yaml()),
            Ok(Err(failure)) => Err(Answer { error: failure.to_string(), ..Answer::default() }),
            Err(cause) => Err(Answer { error: words(&*cause), panic: true, ..Answer::default() }),
        }
    };
    match (run(Reorder::None), run(Reorder::Legacy)) {
        (Ok(yaml), Ok(legacy)) => Answer { ok: true, yaml, legacy, ..Answer::default() },
        (Err(failed), _) | (_, Err(failed)) => failed,
    }
}

fn words(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
