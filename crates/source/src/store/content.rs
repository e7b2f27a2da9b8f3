//! The content of a stored file as a stream: the server holds one chunk of each file, however large it is.

use std::io::{self, SeekFrom};
use std::ops::Range;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

/// The chunk size.
const PIECE: usize = 32 << 10;

/// A file for the server.
#[derive(Debug)]
pub struct Served {
    /// How many bytes it has.
    pub size: u64,
    /// The modification time.
    pub modified: Timestamp,
    /// The bytes.
    pub content: Content,
}

/// The source of a file's content.
pub enum Content {
    /// In memory.
    Bytes(Bytes),
    /// An open file: replacing it later does not change what is read here.
    File(std::fs::File),
    /// A stream.
    Stream(BoxStream<'static, io::Result<Bytes>>),
}

impl Content {
    /// A part of the content, as a stream.
    pub fn part(self, part: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
        let length = part.end.saturating_sub(part.start);
        match self {
            Self::Bytes(bytes) => {
                let end = bytes.len();
                let at = |place: u64| usize::try_from(place).unwrap_or(end).min(end);
                let part = bytes.slice(at(part.start)..at(part.end));
                stream::once(async { Ok(part) }).boxed()
            }
            Self::File(file) => read_file(file, part.start, length),
            Self::Stream(all) => cut(all, part.start, length),
        }
    }

    /// The whole content.
    pub async fn read(self) -> io::Result<Bytes> {
        if let Self::Bytes(bytes) = self {
            return Ok(bytes);
        }
        let mut all = Vec::new();
        let mut pieces = self.part(0..u64::MAX);
        while let Some(piece) = pieces.try_next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all.into())
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Content")
    }
}

fn read_file(
    file: std::fs::File,
    start: u64,
    length: u64,
) -> BoxStream<'static, io::Result<Bytes>> {
    let file = tokio::fs::File::from_std(file);
    let begin = async move {
        let mut file = file;
        if start > 0 {
            file.seek(SeekFrom::Start(start)).await?;
        }
        Ok::<_, io::Error>(file.take(length))
    };
    let pieces = stream::once(begin).map_ok(|file| {
        stream::try_unfold(file, |mut file| async move {
            let mut piece = Vec::with_capacity(PIECE);
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece).await?;
            Ok((read > 0).then(|| (Bytes::from(piece), file)))
        })
    });
    pieces.try_flatten().boxed()
}

/// A part of a stream: skips what is before it, and does not read what is after it.
fn cut(
    all: BoxStream<'static, io::Result<Bytes>>,
    start: u64,
    length: u64,
) -> BoxStream<'static, io::Result<Bytes>> {
    stream::try_unfold((all, start, length), |(mut all, mut skip, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        loop {
            let Some(mut piece) = all.try_next().await? else { return Ok(None) };
            let size = piece.len() as u64;
            if size <= skip {
                skip -= size;
                continue;
            }
            let piece = piece.split_off(usize::try_from(skip).unwrap_or(usize::MAX));
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let left = left - wanted as u64;
            return Ok(Some((piece.slice(..wanted), (all, 0, left))));
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[tokio::test]
    async fn every_part_of_every_kind_of_content_is_the_same() {
        let all: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&all).expect("written");
        let cases =
            [(0, 100_000), (0, 1_000_000), (5, 6), (40_000, 90_000), (99_999, 100_000), (7, 7)];
        for (start, end) in cases {
            let expected = &all[start..end.min(all.len())];
            let pieces: Vec<io::Result<Bytes>> =
                all.chunks(777).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
            let mut handle = file.try_clone().expect("a handle");
            handle.rewind().expect("at its start");
            for content in [
                Content::Bytes(all.clone().into()),
                Content::File(handle),
                Content::Stream(stream::iter(pieces).boxed()),
            ] {
                let mut found = Vec::new();
                let mut parts = content.part(start as u64..end as u64);
                while let Some(piece) = parts.try_next().await.expect("read") {
                    assert!(piece.len() <= PIECE.max(all.len()));
                    found.extend_from_slice(&piece);
                }
                assert!(found == expected, "{start}..{end}");
            }
        }
    }
}
