//! Generates ConfigMaps.

use sluice_yaml::Node;

use super::{Arguments, finish, key_values, object, secret};
use crate::access::{self, Kind};
use crate::failure::Result;
use crate::resource::Resource;
use crate::transformers::Load;

/// A ConfigMap; values that are not UTF-8 go to `binaryData`.
pub(super) fn generate(arguments: &Arguments, files: &dyn Load) -> Result<Resource> {
    let mut node = object("ConfigMap", arguments)?;
    for (key, value) in key_values::load(arguments, files)? {
        match String::from_utf8(value) {
            Ok(text) => put(&mut node, "data", &key, access::lines(text))?,
            Err(error) => {
                let text = secret::base64_lines(error.as_bytes());
                put(&mut node, "binaryData", &key, access::lines(text))?;
            }
        }
    }
    finish(node, arguments)
}

/// Sets a key of a data map, which is created if missing.
pub(super) fn put(node: &mut Node, map: &str, key: &str, value: Node) -> Result<()> {
    match access::lookup_create(node, &[map], Kind::Mapping)? {
        Some(data) => access::set(data, key, value),
        None => Ok(()),
    }
}
