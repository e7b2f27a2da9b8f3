//! Proxies that speak SOCKS: names are resolved by them, and they ask for a password.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use sluice_source::git::{Cloned, GitAuth, GitServer, MemoryTransport, NewCommit, Repository};
use sluice_source::http::{HttpOptions, Proxy};
use sluice_source::network::{Network, Purpose};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{branch, chain, listing, network, request, somebody, tree};

/// A proxy that leads every name to one server; it keeps the names that it was asked for.
async fn socks(target: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let names = Arc::clone(&names);
            tokio::spawn(async move {
                // A rejected client sees the connection end.
                let _ = lead(stream, target, &names).await;
            });
        }
    });
    (address, asked)
}

#[expect(clippy::disallowed_methods, reason = "a server of the tests connects, not the product")]
async fn lead(
    mut stream: TcpStream,
    target: SocketAddr,
    names: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    async fn part(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
        let length = stream.read_u8().await?;
        let mut bytes = vec![0; usize::from(length)];
        stream.read_exact(&mut bytes).await?;
        Ok(bytes)
    }
    assert_eq!(stream.read_u8().await?, 5, "the version of SOCKS");
    let ways = part(&mut stream).await?;
    // Only a password will do.
    let way = if ways.contains(&2) { 2 } else { 255 };
    stream.write_all(&[5, way]).await?;
    assert_eq!(stream.read_u8().await?, 1, "the version of passwords");
    let (user, password) = (part(&mut stream).await?, part(&mut stream).await?);
    let is_known = user == b"ada" && password == b"p@ss:word";
    stream.write_all(&[1, u8::from(!is_known)]).await?;
    if !is_known {
        return Ok(());
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    assert_eq!(head, [5, 1, 0, 3], "to connect to a name");
    let name = String::from_utf8_lossy(&part(&mut stream).await?).into_owned();
    let port = stream.read_u16().await?;
    names.lock().expect("nobody panics").push(format!("{name}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0]).await?;
    let mut server = TcpStream::connect(target).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}

#[tokio::test]
async fn a_proxy_of_socks_is_gone_through_and_resolves_names() {
    let mut repository = Repository::new("main");
    let files = tree(&[("file", "far away\n")]);
    let new = NewCommit { branch: "main", message: "one", files: &files, by: somebody(1) };
    repository.commit(&new);
    let repositories = MemoryTransport::default();
    repositories.insert("app.git", repository);
    let any = "127.0.0.1:0".parse().expect("an address");
    let (git, serving) = GitServer::new(repositories).listen(any).await.expect("a port");
    tokio::spawn(serving);
    let (address, asked) = socks(git).await;
    let proxy = |password: &str| Proxy {
        address: format!("socks5://{address}"),
        username: "ada".to_owned(),
        password: password.into(),
    };
    // Only the proxy resolves this name.
    let main = request("http://git.nowhere.test/app.git", branch("main"));
    let auth = GitAuth { proxy: Some(proxy("p@ss:word")), ..GitAuth::default() };
    let found = sluice_source::git::clone(&network(), &main, &auth).await;
    let found = found.map_err(|error| chain(&error)).expect("cloned");
    let Cloned::Checkout(found) = found else { panic!("{found:?}") };
    assert_eq!(listing(&found.files), ["file far away"]);
    assert_eq!(asked.lock().expect("nobody panics").first().expect("asked"), "git.nowhere.test:80");

    let auth = GitAuth { proxy: Some(proxy("wrong")), ..GitAuth::default() };
    let refused = sluice_source::git::clone(&network(), &main, &auth).await;
    assert!(refused.is_err(), "{refused:?}");

    // Registries and buckets are reached by the same clients.
    let options = HttpOptions { proxy: Some(proxy("p@ss:word")), ..HttpOptions::default() };
    let client = Network::new().client(Purpose::Spec, &options).expect("a client");
    let url = "http://registry.nowhere.test/v2/".parse().expect("an address");
    let request = reqwest::Request::new(reqwest::Method::GET, url);
    let answer = client.execute(request).await.expect("answered");
    assert_eq!(answer.status(), 404);
    let last = asked.lock().expect("nobody panics").last().cloned();
    assert_eq!(last.as_deref(), Some("registry.nowhere.test:80"));
}
