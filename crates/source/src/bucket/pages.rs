//! Listings come in pages; all of them make one list, if there is an end to them.

use super::{BucketError, Listed};

/// How many objects a bucket may have.
const MOST_OBJECTS: usize = 200_000;

/// One page of a listing.
pub(super) struct Page {
    /// What is on it.
    pub(super) listed: Vec<Listed>,
    /// What the next one is asked for with; nothing, or nothing in it, on the last.
    pub(super) next: Option<String>,
}

/// All pages of a listing, asked for one after the other; the first one with nothing.
pub(super) async fn all<F>(page: impl Fn(Option<String>) -> F) -> Result<Vec<Listed>, BucketError>
where
    F: Future<Output = Result<Page, BucketError>>,
{
    let (mut all, mut token) = (Vec::new(), None);
    loop {
        let Page { listed, next } = page(token).await?;
        all.extend(listed);
        if all.len() > MOST_OBJECTS {
            return Err(BucketError(format!("there are more than {MOST_OBJECTS} objects")));
        }
        token = next.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(all);
        }
    }
}
