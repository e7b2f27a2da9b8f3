//! The artifact server under many, slow and hostile clients; in a process of its own, so that its memory can be measured.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use sluice_base::clock::Frozen;
use sluice_source::artifact::ArtifactPath;
use sluice_source::listen::ConnectionLimits;
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore as _, DiskStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

#[expect(clippy::disallowed_methods, reason = "a client of the tests connects, not the product")]
async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("connected")
}

const FILE: &str = "/gitrepository/apps/web/a.tar.gz";
const SIZE: usize = 16 << 20;

/// Memory of this process in MiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    let kilobytes: usize = line.split_whitespace().nth(1).expect("a number").parse().expect("one");
    kilobytes / 1024
}

/// A server of one large file on a disk.
async fn server(limits: ConnectionLimits) -> (SocketAddr, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let store = DiskStore::new(directory.path(), Arc::new(Frozen(Timestamp::now())));
    let place = ArtifactPath::of_path(FILE.trim_start_matches('/')).expect("a place");
    store.put(&place, Bytes::from(vec![7; SIZE])).await.expect("stored");
    let server = ArtifactServer::new(Arc::new(store)).with_limits(limits);
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (address, serving) = server.listen(any).await.expect("a loopback port");
    tokio::spawn(serving);
    (address, directory)
}

async fn ask(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address).await;
    let request = format!("GET {FILE} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("asked");
    stream
}

/// Takes in an answer, and says how many bytes it had, head and all.
async fn drain(mut stream: TcpStream) -> usize {
    let (mut total, mut buffer) = (0, vec![0; 16 << 10]);
    while let Ok(read) = stream.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        total += read;
    }
    total
}

/// One test, for what it measures is the whole process.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_downloads_need_little_memory_however_slow_they_are() {
    let (address, _directory) = server(ConnectionLimits::default()).await;
    let before = resident();
    // Clients that ask for everything and take in nothing.
    let mut stalled = Vec::new();
    for _ in 0..200 {
        stalled.push(ask(address).await);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 128, "{grown} MiB for 200 stalled downloads of 16 MiB");
    drop(stalled);

    let mut all = JoinSet::new();
    for _ in 0..1000 {
        all.spawn(async move {
            let mut stream = connect(address).await;
            let last = SIZE - (256 << 10);
            let request = format!(
                "GET {FILE} HTTP/1.1\r\nhost: x\r\nrange: bytes={last}-\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.expect("asked");
            drain(stream).await
        });
    }
    let mut done = 0;
    while let Some(read) = timeout(Duration::from_mins(2), all.join_next()).await.expect("in time")
    {
        assert!(read.expect("no panic") > 256 << 10, "a whole answer");
        done += 1;
    }
    assert_eq!(done, 1000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 192, "{grown} MiB after 1000 downloads at once");
    assert!(drain(ask(address).await).await > SIZE, "and a whole file");

    a_client_that_sends_no_request_is_let_go().await;
    a_client_that_takes_nothing_in_is_let_go().await;
    clients_that_send_nothing_do_not_keep_others_out().await;
}

fn hasty() -> ConnectionLimits {
    let quick = Duration::from_millis(300);
    ConnectionLimits { connections: 8, head: quick, crowded_head: quick, stall: quick }
}

/// Nothing at all, half a line, a head that never ends, and silence after an answer.
async fn a_client_that_sends_no_request_is_let_go() {
    let (address, _directory) = server(hasty()).await;
    let whole = format!("GET {FILE} HTTP/1.1\r\nhost: x\r\nrange: bytes=0-0\r\n\r\n");
    for begun in ["", "GET /git", "GET / HTTP/1.1\r\nhost: x\r\nx-", "PRI * HTTP/2.0\r\n", &whole] {
        let mut stream = connect(address).await;
        stream.write_all(begun.as_bytes()).await.expect("sent");
        let ended = timeout(Duration::from_secs(10), drain(stream)).await;
        assert!(ended.is_ok(), "{begun:?}: the connection is still open");
    }
    // One letter from time to time does not help.
    let mut stream = connect(address).await;
    let started = Instant::now();
    while stream.write_all(b"a").await.is_ok() {
        assert!(started.elapsed() < Duration::from_secs(10), "the connection is still open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn a_client_that_takes_nothing_in_is_let_go() {
    let (address, _directory) = server(hasty()).await;
    let stream = ask(address).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let taken = drain(stream).await;
    assert!(taken < SIZE, "{taken} bytes: it was still being served");
}

async fn clients_that_send_nothing_do_not_keep_others_out() {
    let (address, _directory) = server(hasty()).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(connect(address).await);
    }
    let served = timeout(Duration::from_secs(20), async { drain(ask(address).await).await }).await;
    assert!(served.expect("served in time") > SIZE);
}
