//! A unified diff over lines, with the matcher that Go's difflib (and Python's) uses: longest
//! common blocks first, very frequent lines never start a block.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const CONTEXT: usize = 3;

/// A block of equal lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    left: usize,
    right: usize,
    size: usize,
}

/// The unified diff of two texts; empty if they are equal.
pub(crate) fn unified(left: &str, right: &str) -> String {
    let left: Vec<&str> = left.lines().collect();
    let right: Vec<&str> = right.lines().collect();
    let blocks = common_blocks(&left, &right);
    let mut out = String::new();
    let mut start = 0;
    while start < blocks.len() {
        // A hunk continues while the equal block between two changes is short.
        let mut end = start + 1;
        while end < blocks.len() - 1 && blocks[end].size <= 2 * CONTEXT {
            end += 1;
        }
        if end < blocks.len() {
            hunk(&mut out, &left, &right, &blocks[start..=end]);
        }
        start = end;
    }
    out
}

fn hunk(out: &mut String, left: &[&str], right: &[&str], blocks: &[Block]) {
    let (first, last) = (blocks[0], blocks[blocks.len() - 1]);
    let lead = first.size.min(CONTEXT);
    let trail = last.size.min(CONTEXT);
    let (mut i, mut j) = (first.left + first.size - lead, first.right + first.size - lead);
    let range = |from: usize, to: usize| match to - from {
        0 => format!("{from},0"),
        1 => format!("{}", from + 1),
        length => format!("{},{length}", from + 1),
    };
    if first.left + first.size == last.left && first.right + first.size == last.right {
        return;
    }
    let _ =
        writeln!(out, "@@ -{} +{} @@", range(i, last.left + trail), range(j, last.right + trail));
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            for line in &left[i..block.left] {
                let _ = writeln!(out, "-{line}");
            }
            for line in &right[j..block.right] {
                let _ = writeln!(out, "+{line}");
            }
        }
        let end =
            if index == blocks.len() - 1 { block.left + trail } else { block.left + block.size };
        let begin = if index == 0 { i } else { block.left };
        for line in &left[begin..end] {
            let _ = writeln!(out, " {line}");
        }
        (i, j) = (end, block.right + (end - block.left));
    }
}

/// The equal blocks in order, joined where adjacent, with an empty one at the start and the end if the
/// texts begin or end differently.
fn common_blocks(left: &[&str], right: &[&str]) -> Vec<Block> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, line) in right.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if right.len() >= 200 {
        let limit = right.len() / 100 + 1;
        places.retain(|_, indices| indices.len() <= limit);
    }
    let mut found = Vec::new();
    let mut todo = vec![(0, left.len(), 0, right.len())];
    while let Some((left_from, left_to, right_from, right_to)) = todo.pop() {
        let area = (left_from..left_to, right_from..right_to);
        let block = longest(left, right, &places, area);
        if block.size == 0 {
            continue;
        }
        found.push(block);
        if left_from < block.left && right_from < block.right {
            todo.push((left_from, block.left, right_from, block.right));
        }
        let (i, j) = (block.left + block.size, block.right + block.size);
        if i < left_to && j < right_to {
            todo.push((i, left_to, j, right_to));
        }
    }
    found.sort_unstable();
    let mut blocks: Vec<Block> = Vec::new();
    for block in found {
        match blocks.last_mut() {
            Some(last)
                if last.left + last.size == block.left && last.right + last.size == block.right =>
            {
                last.size += block.size;
            }
            _ => blocks.push(block),
        }
    }
    if blocks.first().is_none_or(|first| first.left > 0 || first.right > 0) {
        blocks.insert(0, Block { left: 0, right: 0, size: 0 });
    }
    let ends = blocks.last().is_some_and(|last| {
        last.left + last.size == left.len() && last.right + last.size == right.len()
    });
    if !ends || blocks.len() == 1 {
        blocks.push(Block { left: left.len(), right: right.len(), size: 0 });
    }
    blocks
}

fn longest(
    left: &[&str],
    right: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    (lefts, rights): (std::ops::Range<usize>, std::ops::Range<usize>),
) -> Block {
    let mut best = Block { left: lefts.start, right: rights.start, size: 0 };
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for i in lefts.clone() {
        let mut next = BTreeMap::new();
        for &j in places.get(left[i]).map(Vec::as_slice).unwrap_or_default() {
            if !rights.contains(&j) {
                continue;
            }
            let size = 1 + j.checked_sub(1).and_then(|j| lengths.get(&j)).copied().unwrap_or(0);
            next.insert(j, size);
            if size > best.size {
                best = Block { left: i + 1 - size, right: j + 1 - size, size };
            }
        }
        lengths = next;
    }
    // Frequent lines do not start a block but may extend one.
    while best.left > lefts.start
        && best.right > rights.start
        && left[best.left - 1] == right[best.right - 1]
    {
        best.left -= 1;
        best.right -= 1;
        best.size += 1;
    }
    while best.left + best.size < lefts.end
        && best.right + best.size < rights.end
        && left[best.left + best.size] == right[best.right + best.size]
    {
        best.size += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_show_with_three_lines_around_them() {
        let left: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
        let mut right = left.clone();
        right[1] = "two".to_owned();
        right.remove(18);
        assert_eq!(
            unified(&left.join("\n"), &right.join("\n")),
            "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -16,5 +16,4 @@\n 16\n 17\n 18\n-19\n 20\n"
        );
        assert_eq!(unified("a\nb", "a\nb"), "");
        assert_eq!(unified("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
    }
}
