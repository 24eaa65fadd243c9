//! As much of protobuf's wire format as a writer needs: varints, and fields that carry their length.

/// A message under construction. Field numbers are those of the schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(pub Vec<u8>);

const VARINT: u64 = 0;
const WITH_LENGTH: u64 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A whole number.
    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// Bytes as they are.
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | WITH_LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Text.
    pub fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message inside this one.
    pub fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }

    /// A repeated field of messages.
    pub fn messages(self, field: u64, messages: &[Message]) -> Self {
        messages.iter().fold(self, |all, one| all.message(field, one))
    }
}
