//! Joins the pages of a listing, within limits.

use sluice_base::limits::{TreeLimits, shortened};

use super::{BucketError, Listed};

/// The maximum number of objects in a bucket.
const MOST_OBJECTS: usize = 200_000;

/// One page of a listing.
pub(super) struct Page {
    /// Its objects.
    pub(super) listed: Vec<Listed>,
    /// The token of the next page; absent or empty on the last.
    pub(super) next: Option<String>,
}

/// All pages of a listing, requested in sequence; the first without a token.
pub(super) async fn all<F>(page: impl Fn(Option<String>) -> F) -> Result<Vec<Listed>, BucketError>
where
    F: Future<Output = Result<Page, BucketError>>,
{
    let (mut all, mut token) = (Vec::new(), None);
    let mut bytes = 0_u64;
    loop {
        let Page { listed, next } = page(token).await?;
        for object in &listed {
            bytes = bytes.saturating_add(weigh(object)?);
        }
        let limit = TreeLimits::DEFAULT.path_bytes;
        if bytes > limit {
            return Err(BucketError(format!("the listing has more than {limit} bytes")));
        }
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

/// The size of a listed object's entry. Path segments are not validated here, because ignored keys never become
/// paths.
fn weigh(object: &Listed) -> Result<u64, BucketError> {
    let Listed { key, etag, generation } = object;
    let generation = generation.as_deref().unwrap_or_default();
    for (what, text) in [("key", key.as_str()), ("etag", etag), ("generation", generation)] {
        let limit = TreeLimits::DEFAULT.path;
        if text.len() > limit {
            let text = shortened(text);
            return Err(BucketError(format!("the {what} {text:?} has more than {limit} bytes")));
        }
    }
    Ok((key.len() + etag.len() + generation.len()) as u64)
}

#[cfg(test)]
mod tests {
    use super::{Listed, Page, all};

    async fn listing(key: &str, etag: &str, pages: usize) -> Result<usize, String> {
        let listed = Listed { key: key.into(), etag: etag.into(), generation: None };
        let page = |token: Option<String>| {
            let number: usize = token.map_or(0, |token| token.parse().expect("a number"));
            let next = (number + 1 < pages).then(|| (number + 1).to_string());
            std::future::ready(Ok(Page { listed: vec![listed.clone()], next }))
        };
        all(page).await.map(|all| all.len()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_listing_is_bounded_in_objects_and_in_bytes() {
        assert_eq!(listing("a", "b", 1000).await, Ok(1000));
        for (key, etag, pages, words) in [
            ("a".repeat(4096), String::new(), 1, "the key"),
            ("a".to_owned(), "e".repeat(4096), 1, "the etag"),
            ("a".to_owned(), "e".repeat(4095), 20_000, "more than 67108864 bytes"),
            ("a".to_owned(), String::new(), 200_001, "more than 200000 objects"),
        ] {
            let error = listing(&key, &etag, pages).await.expect_err(words);
            assert!(error.contains(words) && error.len() < 300, "{error}");
        }
    }
}
