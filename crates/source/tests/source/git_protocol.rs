//! Git's protocol, spoken by a server that wants to exhaust, to confuse or to be printed.

use std::time::Duration;

use sluice_source::git::{GitAuth, GitTransport as _};

use crate::git_network::{SMART, canned, frame, http};
use crate::support::{branch, chain, clone, network, request};

const ID: &str = "1111111111111111111111111111111111111111";

/// What is said about a server that answers everything alike.
async fn outcome(answer: Vec<u8>) -> String {
    let address = canned(answer).await;
    let mut request = request(&format!("http://{address}/app"), branch("main"));
    request.timeout = Duration::from_secs(20);
    chain(&clone(&network(), &request).await.expect_err("a hostile server"))
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    (0..count).flat_map(|number| frame(line(number).as_bytes())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_are_bounded_in_both_versions() {
    let long = "x".repeat(60_000);
    let second = [frame(b"version 2\n"), lines(40, |number| format!("c{number}={long}\n"))];
    let many = [frame(b"version 2\n"), lines(100_000, |number| format!("c{number}\n"))];
    // In version 0 only the first line may say what the server can do.
    let zero = lines(40, |number| format!("{ID} refs/heads/b{number}\0{long}\n"));
    for (name, body) in [("v2, long", second.concat()), ("v2, many", many.concat()), ("v0", zero)] {
        let body = [body, b"0000".to_vec()].concat();
        let error = outcome(http(200, SMART, &body)).await;
        assert!(error.contains("capabilities"), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_references_are_bounded() {
    let long = format!("refs/heads/{}", "x".repeat(60_000));
    let zero = lines(2, |number| format!("{ID} {long}{number}\n"));
    let error = outcome(http(200, SMART, &[zero, b"0000".to_vec()].concat())).await;
    assert!(error.contains("name of a reference"), "{error}");
    let many = lines(40_000, |number| format!("{ID} refs/heads/{}{number}\n", "x".repeat(1000)));
    let error = outcome(http(200, SMART, &[many, b"0000".to_vec()].concat())).await;
    assert!(error.contains("names of references"), "{error}");
    let idle = lines(400_000, |_| format!("shallow {ID}\n"));
    let error = outcome(http(200, SMART, &[idle, b"0000".to_vec()].concat())).await;
    assert!(error.contains("lines"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn references_with_impossible_names_are_left_out() {
    let names = [
        "refs/heads/good",
        "refs/heads/a..b",
        "refs/heads/new\nline",
        "refs/heads/\u{1b}[31mred",
        "refs/heads/a b",
        "refs/heads/a~1",
        "refs/heads/a:b",
        "refs/heads/a\\b",
        "refs/heads/x.lock",
        "refs/heads/.hidden",
        "refs/heads//twice",
        "refs/heads/@{x}",
        "../../etc/passwd",
        "HEAD",
        "refs/tags/v1.0.0",
    ];
    let body: Vec<u8> =
        names.iter().flat_map(|name| frame(format!("{ID} {name}\n").as_bytes())).collect();
    let address = canned(http(200, SMART, &[body, b"0000".to_vec()].concat())).await;
    let remote = network().open(&format!("http://{address}/app"), &GitAuth::default());
    let refs = remote.expect("an address").list_refs(&[]).await.expect("listed");
    let found: Vec<&str> = refs.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(found, ["refs/heads/good", "HEAD", "refs/tags/v1.0.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_a_server_are_shown_plainly_and_briefly() {
    let esc = "\u{1b}]0;owned\u{7}\r\n\u{202e}txt";
    let long = "y".repeat(60_000);
    let page = format!("{esc}{long}");
    let answers = [
        http(200, SMART, &frame(format!("ERR {esc}{long}").as_bytes())),
        http(200, SMART, &frame(format!("{esc}{long}").as_bytes())),
        http(401, "", page.as_bytes()),
        http(403, "", page.as_bytes()),
        http(404, "", page.as_bytes()),
    ];
    for answer in answers {
        let error = outcome(answer).await;
        assert!(error.len() < 3000, "{} bytes of {error:.200}", error.len());
        let bad = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
        assert!(!error.contains(bad), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn talk_beside_a_packfile_is_bounded() {
    let refs = [frame(format!("{ID} refs/heads/main\0side-band-64k shallow\n").as_bytes())];
    let progress = frame(&[&[2], "z".repeat(60_000).as_bytes()].concat()).repeat(700);
    let shallow = frame(format!("shallow {ID}\n").as_bytes()).repeat(700_000);
    for body in [
        [frame(b"NAK\n"), progress, b"0000".to_vec()].concat(),
        [shallow, frame(b"NAK\n"), b"0000".to_vec()].concat(),
    ] {
        let advertised = [refs.concat(), b"0000".to_vec()].concat();
        let first = http(200, SMART, &advertised);
        let address = crate::git_network::answering(first, http(200, "", &body)).await;
        let request = request(&format!("http://{address}/app"), branch("main"));
        let error = chain(&clone(&network(), &request).await.expect_err("endless"));
        assert!(error.contains("beside the packfile"), "{error}");
    }
}
