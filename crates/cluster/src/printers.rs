//! The tables of the built-in kinds, one file each.

use crate::printer::Printer;

/// How objects of a built-in resource are printed; `None` means `NAME` and `AGE`.
pub(crate) fn printer(group: &str, resource: &str) -> Option<Printer> {
    let _ = (group, resource);
    None
}
