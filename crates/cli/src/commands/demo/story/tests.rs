//! The story comes true, and only then is it told.

use super::{BROKEN, Edit, GATEWAY_FILE, NEW_VERSION, Stopped, Story};
use crate::commands::demo::pace::Pace;
use crate::commands::demo::platform::Platform;
use crate::commands::demo::stage::Stage;
use crate::screen::Screen;

async fn told(platform: Platform, broken: &[Edit]) -> Result<(), String> {
    let mut stage = Stage::new(7);
    let mut screen = Screen::stdout();
    let teller = Story::new(&mut stage, &mut screen, Pace::Fast, platform);
    let told = teller.breaking(broken).tell().await;
    told.map_err(|stopped| match stopped {
        Stopped::Finding(seen) => seen,
        Stopped::Failed(error) => panic!("{error}"),
    })
}

#[tokio::test(start_paused = true)]
async fn the_story_comes_true() {
    told(Platform::as_embedded(), BROKEN).await.unwrap();
}

/// What the story claims is looked at: with any part of it taken away, it ends with what was seen.
#[tokio::test(start_paused = true)]
async fn a_story_that_does_not_come_true_is_not_told() {
    let harmless: &[Edit] = &BROKEN[..1];
    let seen = told(Platform::as_embedded(), harmless).await.unwrap_err();
    assert!(seen.starts_with("after 15:00, "), "{seen}");

    let mut unordered = Platform::as_embedded();
    let order = ("clusters/demo/3-services.yaml", "- name: controllers", "- name: primitives");
    unordered.edit(&[order]).unwrap();
    let seen = told(unordered, BROKEN).await.unwrap_err();
    assert!(seen.contains("before the layer below it was proved"), "{seen}");

    let mut careless = Platform::as_embedded();
    careless
        .edit(&[(
            "applications/shop/web.yaml",
            "  replicas: 3",
            "  strategy: {type: Recreate}\n  replicas: 3",
        )])
        .unwrap();
    let seen = told(careless, BROKEN).await.unwrap_err();
    assert!(seen.contains("were ready during the rollout"), "{seen}");
}

#[test]
fn the_changes_can_be_made_to_the_platform() {
    let mut platform = Platform::as_embedded();
    platform.edit(NEW_VERSION).unwrap();
    platform.edit(BROKEN).unwrap();
    assert!(BROKEN.iter().any(|(path, ..)| *path == GATEWAY_FILE));
}
