//! Listings over plain bytes, for [`crate::probe`].

use futures::FutureExt as _;

use super::pages::{self, Page};
use super::{BucketError, azure, gcs, s3};

pub(crate) fn s3(input: &[u8]) -> Result<(), BucketError> {
    all(s3::read_page(input))
}

pub(crate) fn gcs(input: &[u8]) -> Result<(), BucketError> {
    all(gcs::read_page(input))
}

pub(crate) fn azure(input: &[u8]) -> Result<(), BucketError> {
    all(azure::read_page(input))
}

/// The page as the first and last of a listing.
fn all(page: Result<Page, BucketError>) -> Result<(), BucketError> {
    let page = std::sync::Mutex::new(Some(page?));
    let listed = pages::all(|_| {
        let page = page.lock().ok().and_then(|mut page| page.take());
        let listed = page.map(|page| page.listed).unwrap_or_default();
        std::future::ready(Ok(Page { listed, next: None }))
    });
    listed.now_or_never().unwrap_or_else(|| Err(BucketError::new("waits"))).map(drop)
}
