//! What upstream made of writes: its field manager alone, and a whole server.

mod sequences;
mod server;
mod small;

/// The lines of a recording.
fn lines(path: &str) -> Vec<serde_json::Value> {
    use std::io::Read as _;
    let packed = std::fs::read(path).expect("the recording is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}
