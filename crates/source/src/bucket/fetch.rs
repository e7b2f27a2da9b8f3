//! Fetches a bucket as a tree of files: lists it first, and downloads only a new revision.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;

use super::index::BucketIndex;
use super::{BucketError, BucketReader, Listed, Object};
use crate::ignore::{self, Rules};
use crate::tree::{Node, SourceTree};

/// The object with ignore patterns.
const IGNORE_FILE: &str = ".sourceignore";
/// The number of concurrent downloads.
const AT_A_TIME: usize = 32;
/// The maximum size of all objects.
const LARGEST: u64 = 1 << 30;

/// What to fetch from a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BucketQuery {
    /// Its name, for messages.
    pub bucket: String,
    /// The prefix of keys.
    pub prefix: String,
    /// Ignore patterns, which take precedence over those in the bucket.
    pub ignore: Option<String>,
    /// The current revision.
    pub known: Option<String>,
    /// The timeout of the listing, and again of the downloads.
    pub timeout: Duration,
}

/// The result of a fetch.
#[derive(Debug, Clone)]
pub struct FetchedBucket {
    /// The index of the bucket.
    pub index: BucketIndex,
    /// The files; `None` if the revision is the current one.
    pub files: Option<SourceTree>,
}

/// Lists a bucket, and downloads its files if the revision is new.
pub async fn fetch(
    reader: &dyn BucketReader,
    query: &BucketQuery,
) -> Result<FetchedBucket, BucketError> {
    let mut files = SourceTree::default();
    let (mut index, listed) = survey(reader, query, &mut files).await?;
    if query.known.as_deref().is_some_and(|known| index.is_at(known)) {
        return Ok(FetchedBucket { index, files: None });
    }
    let bucket = &query.bucket;
    reader.limit(Instant::now() + query.timeout);
    let all = fetch_all(reader, &listed, &mut index, &mut files);
    in_time(query.timeout, all)
        .await
        .map_err(|error| BucketError(format!("fetch from bucket '{bucket}' failed: {error}")))?;
    Ok(FetchedBucket { index, files: Some(files) })
}

/// Lists the bucket without ignored keys. Also returns the file with ignore patterns, if there is one.
async fn survey(
    reader: &dyn BucketReader,
    query: &BucketQuery,
    files: &mut SourceTree,
) -> Result<(BucketIndex, Vec<Listed>), BucketError> {
    let bucket = &query.bucket;
    let started = Instant::now();
    reader.limit(started + query.timeout);
    let left = || query.timeout.saturating_sub(started.elapsed());
    let exists = in_time(left(), reader.exists()).await.map_err(|error| {
        let error = without_queries(&error.0);
        BucketError(format!("failed to confirm existence of '{bucket}' bucket: {error}"))
    })?;
    if !exists {
        return Err(BucketError(format!("bucket '{bucket}' not found")));
    }
    let patterns = Listed { key: IGNORE_FILE.to_owned(), ..Listed::default() };
    let said = in_time(left(), reader.get(&patterns, LARGEST)).await.map_err(|error| {
        let error = without_queries(&error.0);
        BucketError(format!("failed to get Etag for '{IGNORE_FILE}' object: {error}"))
    })?;
    let mut rules = Vec::new();
    if let Some(said) = said {
        rules = ignore::read(&String::from_utf8_lossy(&said.content), &[]);
        insert(files, IGNORE_FILE, said.content)?;
    }
    rules.extend(query.ignore.iter().flat_map(|text| ignore::read(text, &[])));
    let rules = Rules::new(rules);
    let listed = in_time(left(), reader.list(&query.prefix)).await.map_err(|error| {
        let error = without_queries(&error.0);
        BucketError(format!(
            "indexation of objects from bucket '{bucket}' failed: listing objects from bucket '{bucket}' failed: {error}"
        ))
    })?;
    let mut index = BucketIndex::default();
    let mut kept = Vec::new();
    for object in listed {
        let key = &object.key;
        if key.ends_with('/') || key == IGNORE_FILE || rules.excludes(key, false) {
            continue;
        }
        index.set(key, &object.etag);
        kept.push(object);
    }
    Ok((index, kept))
}

/// Downloads all objects; the index gets the etags that were actually read.
async fn fetch_all(
    reader: &dyn BucketReader,
    listed: &[Listed],
    index: &mut BucketIndex,
    files: &mut SourceTree,
) -> Result<(), BucketError> {
    let mut waiting = listed.iter();
    let mut running = FuturesUnordered::new();
    let mut total: u64 = 0;
    loop {
        running.extend(waiting.by_ref().take(AT_A_TIME - running.len()).map(|it| get(reader, it)));
        let Some((object, got)) = running.next().await else { return Ok(()) };
        let key = &object.key;
        let failed = |error: &dyn std::fmt::Display| {
            let error = without_queries(&error.to_string());
            BucketError(format!("failed to get '{key}' object: {error}"))
        };
        let Some(found) = got.map_err(|error| failed(&error))? else {
            tracing::info!("indexed object '{key}' disappeared");
            index.remove(key);
            continue;
        };
        total = total.saturating_add(found.content.len() as u64);
        if total > LARGEST {
            return Err(failed(&format!("the bucket holds more than {LARGEST} bytes")));
        }
        if found.etag != object.etag {
            index.set(key, &found.etag);
        }
        insert(files, key, found.content)?;
    }
}

/// Removes the queries of URLs in a text exactly as Flux does: a URL reaches up to the next space,
/// including a quote after it.
fn without_queries(words: &str) -> String {
    let mut out = words.to_owned();
    for address in words.split_whitespace().filter_map(|part| {
        let at = part.find("http://").or_else(|| part.find("https://"))?;
        part.get(at..)
    }) {
        let host = address.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next());
        // A host cannot contain a quote.
        if host.is_none_or(|host| host.contains('"')) {
            continue;
        }
        let shown = match address.split_once('?') {
            Some((path, _)) => path.to_owned(),
            None => address.replace('"', "%22"),
        };
        let Some(last) = address.chars().last() else { continue };
        let start = address.strip_suffix(last).unwrap_or(address);
        let mut cleaned = String::with_capacity(out.len());
        let mut rest = out.as_str();
        while let Some((before, after)) = rest.split_once(start) {
            cleaned.push_str(before);
            cleaned.push_str(&shown);
            rest = after.trim_start_matches(last);
        }
        cleaned.push_str(rest);
        out = cleaned;
    }
    out
}

async fn get<'a>(
    reader: &'a dyn BucketReader,
    object: &'a Listed,
) -> (&'a Listed, Result<Option<Object>, BucketError>) {
    (object, reader.get(object, LARGEST).await)
}

/// Inserts a file at the path of its key, never outside of the tree.
fn insert(files: &mut SourceTree, key: &str, content: bytes::Bytes) -> Result<(), BucketError> {
    let mut parts: Vec<&str> = Vec::new();
    for part in key.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    if files.get(&path) == Some(&Node::Directory) {
        return Err(BucketError(format!(
            "failed to get '{key}' object: rename /{path}: file exists"
        )));
    }
    files
        .insert_file(&path, content)
        .map_err(|error| BucketError(format!("failed to resolve path for '{key}' object: {error}")))
}

async fn in_time<T>(
    timeout: Duration,
    work: impl Future<Output = Result<T, BucketError>>,
) -> Result<T, BucketError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_) => Err(BucketError::new("context deadline exceeded")),
    }
}

#[cfg(test)]
mod tests {
    use super::without_queries;

    #[test]
    fn addresses_lose_their_parameters_as_flux_has_it() {
        for (words, expected) in [
            ("no address", "no address"),
            (r#"Get "http://h/b/?location=": EOF"#, r#"Get "http://h/b/ EOF"#),
            (r#"Get "http://h/b/k": late"#, r#"Get "http://h/b/k%22: late"#),
            (
                r#"Get "http://h/k": closed http://h/k. Again"#,
                r#"Get "http://h/k.%22: closed http://h/k. Again"#,
            ),
            (r#"Post "http://h:9": refused"#, r#"Post "http://h:9": refused"#),
        ] {
            assert_eq!(without_queries(words), expected);
        }
    }
}
