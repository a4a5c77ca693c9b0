//! The opcodes that are refused, by name.

/// Opcodes that create objects of any type, or refer to objects outside of the pickle.
const REFUSED: [(u8, &str); 14] = [
    (b'i', "INST"),
    (b'o', "OBJ"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (0x8f, "EMPTY_SET"),
    (0x90, "ADDITEMS"),
    (0x91, "FROZENSET"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
];

/// Returns the name of an opcode that is refused.
pub(crate) fn refused(opcode: u8) -> Option<&'static str> {
    REFUSED.iter().find(|(code, _)| *code == opcode).map(|(_, name)| *name)
}
