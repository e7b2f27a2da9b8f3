//! The table of formats, one file each.

mod bucket;
mod cel;
mod certificate;
mod cluster;
mod crd;
mod envsubst;
mod git_object;
mod git_pack;
mod git_protocol;
mod git_signature;
mod ignore;
mod known_hosts;
mod kubeconfig;
mod kustomization;
mod oci;
mod oci_signature;
mod patch;
mod selector;
mod semver;
mod sops;
mod ssh_key;
mod tarball;
mod yaml;

use crate::Format;

/// Every format.
pub const FORMATS: &[Format] = &[
    git_pack::FORMAT,
    git_protocol::FORMAT,
    git_object::FORMAT,
    git_signature::FORMAT,
    known_hosts::FORMAT,
    ssh_key::FORMAT,
    tarball::FORMAT,
    oci::FORMAT,
    oci_signature::FORMAT,
    certificate::FORMAT,
    bucket::S3,
    bucket::GCS,
    bucket::AZURE,
    ignore::FORMAT,
    semver::FORMAT,
    selector::FORMAT,
    sops::FORMAT,
    sops::KEYS,
    cel::FORMAT,
    envsubst::FORMAT,
    yaml::FORMAT,
    patch::FORMAT,
    kustomization::FORMAT,
    kubeconfig::FORMAT,
    cluster::FORMAT,
    crd::FORMAT,
];
