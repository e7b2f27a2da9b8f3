//! Tables in Flux's format: a tab after every padded cell, headings in capitals, no frame.
//!
//! Flux uses tablewriter 0.0.5 in its frameless mode. Scripts split these tables at tabs, so the bytes are the same, down
//! to the blank after the last heading.

/// A table. Without headings it is only its rows.
pub(crate) fn render(headings: &[&str], rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).chain([headings.len()]).max().unwrap_or_default();
    let mut widths = vec![0; columns];
    for (width, heading) in widths.iter_mut().zip(headings) {
        *width = width_of(heading);
    }
    let rows: Vec<Vec<Vec<&str>>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.split('\n').collect()).collect())
        .collect();
    for row in &rows {
        for (width, lines) in widths.iter_mut().zip(row) {
            let widest = lines.iter().map(|line| width_of(line)).max().unwrap_or_default();
            *width = (*width).max(widest);
        }
    }
    let mut out = String::new();
    if !headings.is_empty() {
        for (column, width) in widths.iter().enumerate() {
            let heading = headings.get(column).copied().unwrap_or_default().to_uppercase();
            pad(&mut out, &heading, *width);
            out.push(if column + 1 == columns { ' ' } else { '\t' });
        }
        out.push('\n');
    }
    for row in &rows {
        let height = row.iter().map(Vec::len).max().unwrap_or_default();
        for line in 0..height {
            for (lines, width) in row.iter().zip(&widths) {
                // A cell with fewer lines than its row is padded with two blanks per line.
                pad(&mut out, lines.get(line).copied().unwrap_or("  "), *width);
                out.push('\t');
            }
            out.push('\n');
        }
    }
    out
}

fn pad(out: &mut String, text: &str, width: usize) {
    out.push_str(text);
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(width_of(text))));
}

/// The width of a text on a terminal: two for wide characters, none for combining marks.
fn width_of(text: &str) -> usize {
    text.chars().map(|character| columns_of(u32::from(character))).sum()
}

fn columns_of(code: u32) -> usize {
    match code {
        0..=0x1f | 0x7f..=0x9f | 0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x2_0000..=0x3_fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::render;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn cells_are_padded_and_end_with_a_tab() {
        let rows = [row(&["a", "long one"]), row(&["wider", "b"])];
        assert_eq!(
            render(&["Name", "Last run"], &rows),
            "NAME \tLAST RUN \na    \tlong one\t\nwider\tb       \t\n"
        );
    }

    #[test]
    fn a_cell_of_two_lines_makes_two_lines() {
        assert_eq!(render(&[], &[row(&["a", "x\ny"])]), "a\tx\t\n  \ty\t\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(render(&[], &[row(&["界", ""]), row(&["ab", ""])]), "界\t\t\nab\t\t\n");
    }
}
