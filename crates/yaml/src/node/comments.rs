//! Accessors for a node's comments, which are boxed because most nodes have none.

use super::{Comments, Node};

impl Node {
    /// The comment on the lines above.
    pub fn head_comment(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.head)
    }

    /// The comment on the same line.
    pub fn line_comment(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.line)
    }

    /// The comment on the lines below.
    pub fn foot_comment(&self) -> &str {
        self.comments.as_ref().map_or("", |comments| &comments.foot)
    }

    /// Sets the comment on the lines above.
    pub fn set_head_comment(&mut self, text: String) {
        self.set(text, |comments| &mut comments.head);
    }

    /// Sets the comment on the same line.
    pub fn set_line_comment(&mut self, text: String) {
        self.set(text, |comments| &mut comments.line);
    }

    /// Sets the comment on the lines below.
    pub fn set_foot_comment(&mut self, text: String) {
        self.set(text, |comments| &mut comments.foot);
    }

    pub(super) fn take_foot_comment(&mut self) -> String {
        let foot = self.comments.as_mut().map(|comments| std::mem::take(&mut comments.foot));
        self.drop_empty_comments();
        foot.unwrap_or_default()
    }

    /// Drops the box when no comment is left in it.
    pub(super) fn drop_empty_comments(&mut self) {
        if self.comments.as_deref() == Some(&Comments::default()) {
            self.comments = None;
        }
    }

    fn set(&mut self, text: String, which: fn(&mut Comments) -> &mut String) {
        if !text.is_empty() || self.comments.is_some() {
            *which(self.comments.get_or_insert_default()) = text;
            self.drop_empty_comments();
        }
    }
}
