//! Values that never show in a log, an error or a debug print, and are overwritten when they are dropped.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

pub use zeroize::{Zeroize, ZeroizeOnDrop};

/// A value that prints as `[redacted]` and is overwritten when it is dropped; [`Redacted::expose`]
/// gives access. Copies that others make of it (request buffers, parsed keys of other libraries) are
/// theirs; `docs/identities.md` lists them.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Redacted<T: Zeroize>(T);

impl<T: Zeroize> Redacted<T> {
    /// Hides a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + Default> Redacted<T> {
    /// The value itself, for good: from here on it is not overwritten.
    pub fn into_exposed(mut self) -> T {
        std::mem::take(&mut self.0)
    }
}

impl<T: Zeroize> Drop for Redacted<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> ZeroizeOnDrop for Redacted<T> {}

impl<T: Zeroize> fmt::Debug for Redacted<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl<T: Zeroize> From<T> for Redacted<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl From<&str> for Redacted<String> {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The data of a Kubernetes Secret, overwritten when it is dropped. It is read like the map that it is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretData(BTreeMap<String, Vec<u8>>);

impl Deref for SecretData {
    type Target = BTreeMap<String, Vec<u8>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl FromIterator<(String, Vec<u8>)> for SecretData {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl Drop for SecretData {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
    }
}

impl ZeroizeOnDrop for SecretData {}

/// Names entries, and nothing of what is in them.
impl fmt::Debug for SecretData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use zeroize::Zeroize;

    use super::{Redacted, SecretData};

    /// Bytes that another can still see when their owner is gone.
    #[derive(Clone, Default)]
    struct Watched(Arc<Mutex<Vec<u8>>>);

    impl Zeroize for Watched {
        fn zeroize(&mut self) {
            self.0.lock().expect("no panic before").as_mut_slice().zeroize();
        }
    }

    #[test]
    fn a_debug_print_shows_nothing() {
        let hidden = Redacted::new("hunter2".to_owned());
        assert_eq!(format!("{hidden:?} {:?}", Some(&hidden)), "[redacted] Some([redacted])");
        assert_eq!(hidden.expose(), "hunter2");
    }

    #[test]
    fn what_is_dropped_is_overwritten() {
        let seen = Watched(Arc::new(Mutex::new(b"hunter2".to_vec())));
        let hidden = Redacted::new(seen.clone());
        assert_eq!(*seen.0.lock().expect("no panic before"), b"hunter2");
        drop(hidden);
        assert_eq!(*seen.0.lock().expect("no panic before"), [0; 7]);
    }

    #[test]
    fn data_of_secrets_shows_names_only() {
        let data: SecretData = [("password".to_owned(), b"hunter2".to_vec())].into_iter().collect();
        assert_eq!(format!("{data:?}"), "{\"password\"}");
        assert_eq!(data.get("password").map(Vec::as_slice), Some(&b"hunter2"[..]));
    }

    #[test]
    fn what_is_taken_out_is_whole() {
        let seen = Watched(Arc::new(Mutex::new(b"hunter2".to_vec())));
        let taken = Redacted::new(seen.clone()).into_exposed();
        assert_eq!(*taken.0.lock().expect("no panic before"), b"hunter2");
    }
}
