//! The file name of a composed artifact: a checksum over paths and contents.

use super::ComposeError;
use crate::tree::{Node, SourceTree};

/// A checksum over all files of a tree, as Flux computes it: for each file a line of its own checksum and its path
/// below the name.
pub fn content_hash(tree: &SourceTree, name: &str) -> Result<String, ComposeError> {
    let mut lines: Vec<(String, u32)> = Vec::new();
    for (path, node) in tree.iter() {
        if path.contains('\n') {
            return Err(ComposeError::new(
                "failed to hash staging dir: filenames with newlines are not supported",
            ));
        }
        if let Node::File { content, .. } = node {
            lines.push((format!("{name}/{path}"), adler32(content)));
        }
    }
    lines.sort();
    let text: Vec<String> = lines.iter().map(|(path, sum)| format!("{sum:x}  {path}\n")).collect();
    Ok(adler32(text.concat().as_bytes()).to_string())
}

fn adler32(bytes: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    /// The number of bytes that can be summed before a reduction is needed.
    const STRETCH: usize = 5552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for stretch in bytes.chunks(STRETCH) {
        for byte in stretch {
            low += u32::from(*byte);
            high += low;
        }
        low %= PRIME;
        high %= PRIME;
    }
    (high << 16) | low
}

#[cfg(test)]
mod tests {
    use super::{adler32, content_hash};
    use crate::tree::SourceTree;

    #[test]
    fn the_checksum_is_adlers() {
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
        assert_eq!(adler32(&vec![0xff; 100_000]), {
            let (mut low, mut high) = (1_u64, 0_u64);
            for _ in 0..100_000 {
                low = (low + 255) % 65_521;
                high = (high + low) % 65_521;
            }
            u32::try_from(high << 16 | low).expect("32 bits")
        });
        let mut tree = SourceTree::default();
        tree.insert_file("b/c", "x").expect("a path");
        let one = content_hash(&tree, "a").expect("a hash");
        assert_eq!(one, adler32(format!("{:x}  a/b/c\n", adler32(b"x")).as_bytes()).to_string());
        tree.insert_file("d\ne", "x").expect("a path");
        assert!(content_hash(&tree, "a").is_err());
    }
}
