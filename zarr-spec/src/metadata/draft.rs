//! Documents of the format.
