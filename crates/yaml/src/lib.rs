//! YAML documents as Go's tools read and write them.
