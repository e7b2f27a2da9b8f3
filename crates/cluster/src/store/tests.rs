use std::sync::Arc;

use serde_json::json;

use super::watch::Ended;
use super::*;

fn pods() -> GroupResource {
    GroupResource::new("", "pods")
}

fn pod(image: &str) -> Value {
    json!({"metadata": {"name": "a"}, "spec": {"image": image}})
}

fn images(listing: &Listing) -> Vec<&str> {
    listing.items.iter().filter_map(|(_, item)| item.value["spec"]["image"].as_str()).collect()
}

#[test]
fn a_write_counts_the_one_revision_and_stamps_the_object() {
    let store = Store::new(10);
    let first = store.create(&pods(), "x/a", pod("1")).unwrap();
    let second = store.create(&GroupResource::new("apps", "deployments"), "x/a", pod("1")).unwrap();
    assert_eq!(second.revision, first.revision + 1);
    assert_eq!(second.value["metadata"]["resourceVersion"], second.revision.to_string());
}

#[test]
fn writers_that_lost_a_race_get_an_error() {
    let store = Store::new(10);
    let read = store.create(&pods(), "x/a", pod("1")).unwrap().revision;
    assert_eq!(store.create(&pods(), "x/a", pod("1")).unwrap_err(), Refused::Exists);
    store.update(&pods(), "x/a", read, pod("2")).unwrap();
    assert_eq!(store.update(&pods(), "x/a", read, pod("3")).unwrap_err(), Refused::Stale);
    assert_eq!(store.delete(&pods(), "x/b", read).unwrap_err(), Refused::Missing);
}

#[test]
fn the_past_can_be_listed_until_it_is_compacted() {
    let store = Store::new(3);
    let first = store.create(&pods(), "x/a", pod("1")).unwrap().revision;
    let second = store.update(&pods(), "x/a", first, pod("2")).unwrap().revision;
    store.create(&pods(), "x/b", pod("b")).unwrap();
    store.delete(&pods(), "x/a", second).unwrap();
    let list = |at| store.list(&pods(), "x/", None, Some(at));
    assert_eq!(images(&list(second).unwrap()), ["2"]);
    assert_eq!(images(&list(second + 1).unwrap()), ["2", "b"]);
    assert_eq!(images(&list(second + 2).unwrap()), ["b"]);
    assert_eq!(list(second + 9).unwrap_err(), Unreadable::Future);
    store.compact();
    assert_eq!(list(second).unwrap_err(), Unreadable::Compacted);
}

#[test]
fn keys_sort_as_etcd_sorts_them() {
    let store = Store::new(10);
    for key in ["a/x", "a-b/x", "a.b/x"] {
        store.create(&pods(), key, pod(key)).unwrap();
    }
    let all = store.list(&pods(), "", None, None).unwrap();
    assert_eq!(images(&all), ["a-b/x", "a.b/x", "a/x"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_watch_sees_every_write_once_and_in_order() {
    let store = Arc::new(Store::new(10));
    let mut watch = store.watch(&pods(), store.revision()).unwrap();
    let first = store.create(&pods(), "x/a", pod("1")).unwrap().revision;
    store.update(&pods(), "x/a", first, pod("2")).unwrap();
    watch.changed().await;
    let seen: Vec<_> = watch.take().unwrap().into_iter().map(|event| event.change).collect();
    assert_eq!(seen, [Change::Added, Change::Modified]);
    assert!(watch.take().unwrap().is_empty());
}

#[test]
fn a_watch_that_falls_behind_is_expired_and_a_closed_one_ends() {
    let store = Arc::new(Store::new(2));
    let mut slow = store.watch(&pods(), store.revision()).unwrap();
    for name in ["a", "b", "c", "d"] {
        store.create(&pods(), name, pod(name)).unwrap();
    }
    assert!(matches!(slow.take(), Err(Ended::Expired(_))));
    let mut open = store.watch(&pods(), store.revision()).unwrap();
    store.close_watches();
    assert_eq!(open.take().unwrap_err(), Ended::Closed);
}
