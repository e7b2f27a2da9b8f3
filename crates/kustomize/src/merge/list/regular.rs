//! Associative lists where every item has all keys and a unique row: one pass over the rows.

use std::collections::HashMap;

use super::Lists;
use super::rows::{Row, Rows};
use crate::failure::Result;
use crate::merge::elements::Place;
use crate::merge::{ListIncrease, Walker};
use crate::openapi::SchemaRef;

impl<'s> Walker<'s> {
    /// Merges item by item; returns the items of the result.
    pub(super) fn merge_regular(
        &self,
        lists: &mut Lists,
        rows: &Rows<'_>,
        (of_target, of_patch): &(HashMap<Row, Place>, HashMap<Row, Place>),
        schema: Option<&SchemaRef<'s>>,
    ) -> Result<Vec<Place>> {
        let prepend = self.increase == ListIncrease::Prepend;
        // With several keys, kyaml removes the target's items and appends them again.
        let target_last = prepend && rows.keys.len() > 1;
        let mut result = Vec::with_capacity(rows.all.len());
        let mut gone = Vec::new();
        for row in &rows.all {
            let (target, patch) = (of_target.get(row).copied(), of_patch.get(row).copied());
            let Some(merged) = self.element(lists, target, patch, schema)? else {
                gone.extend(target);
                continue;
            };
            if let ([""], [text]) = (&rows.keys[..], &row[..]) {
                lists.store.set_key(merged, "", text)?;
            }
            // When prepending, items that the target has stay the target's.
            match target.filter(|_| prepend) {
                None => result.push(merged),
                Some(target) if !target_last => result.push(target),
                Some(_) => {}
            }
        }
        if target_last {
            gone.sort_unstable();
            let kept = lists.target.iter().filter(|place| gone.binary_search(place).is_err());
            result.extend(kept);
        }
        Ok(result)
    }
}
