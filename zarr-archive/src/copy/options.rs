//! The options of a copy as its caller writes them, for messages.

use std::fmt::Display;

/// The caller of a copy. Messages name options in the notation of the caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caller {
    /// A command line: `--overwrite`, `--pass 2`.
    #[default]
    Program,
    /// A Python program: `overwrite=True`, `partition_pass=2`.
    Python,
}

/// An option of a copy that messages name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`CopyRequest` documents the options")]
pub enum CopyOption {
    Chunks,
    Codecs,
    Consolidate,
    Exclude,
    Format,
    Include,
    Lossy,
    MaxReads,
    Memory,
    Overwrite,
    Partition,
    Pass,
    Paths,
    Resume,
    Select,
    Shards,
    SkipUnreadable,
    Threads,
    Verify,
}

impl CopyOption {
    /// All options.
    pub const ALL: [Self; 19] = [
        Self::Chunks,
        Self::Codecs,
        Self::Consolidate,
        Self::Exclude,
        Self::Format,
        Self::Include,
        Self::Lossy,
        Self::MaxReads,
        Self::Memory,
        Self::Overwrite,
        Self::Partition,
        Self::Pass,
        Self::Paths,
        Self::Resume,
        Self::Select,
        Self::Shards,
        Self::SkipUnreadable,
        Self::Threads,
        Self::Verify,
    ];

    /// Returns whether the option does not take a value on the command line.
    fn is_switch(self) -> bool {
        matches!(
            self,
            Self::Consolidate
                | Self::Lossy
                | Self::Overwrite
                | Self::Resume
                | Self::SkipUnreadable
                | Self::Verify
        )
    }

    /// Returns the name on the command line.
    fn in_program(self) -> &'static str {
        match self {
            Self::Chunks => "--chunks",
            Self::Codecs => "--codec",
            Self::Consolidate => "--consolidate",
            Self::Exclude => "--exclude",
            Self::Format => "--format",
            Self::Include => "--include",
            Self::Lossy => "--lossy",
            Self::MaxReads => "--max-reads",
            Self::Memory => "--memory",
            Self::Overwrite => "--overwrite",
            Self::Partition => "--partition",
            Self::Pass => "--pass",
            Self::Paths => "--path",
            Self::Resume => "--resume",
            Self::Select => "--select",
            Self::Shards => "--shards",
            Self::SkipUnreadable => "--skip-unreadable",
            Self::Threads => "--jobs",
            Self::Verify => "--verify",
        }
    }

    /// Returns the name of the argument in Python. The memory is an environment variable.
    fn in_python(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::Codecs => "codecs",
            Self::Consolidate => "consolidate",
            Self::Exclude => "exclude",
            Self::Format => "zarr_format",
            Self::Include => "include",
            Self::Lossy => "lossy",
            Self::MaxReads => "max_reads",
            Self::Memory => "ZARR_KIT_MEMORY",
            Self::Overwrite => "overwrite",
            Self::Partition => "partition",
            Self::Pass => "partition_pass",
            Self::Paths => "path",
            Self::Resume => "resume",
            Self::Select => "select",
            Self::Shards => "shards",
            Self::SkipUnreadable => "skip_unreadable",
            Self::Threads => "threads",
            Self::Verify => "verify",
        }
    }
}

impl Caller {
    /// Returns the name of an option: `--max-reads` or `max_reads`.
    #[must_use]
    pub fn name(self, option: CopyOption) -> &'static str {
        match self {
            Self::Program => option.in_program(),
            Self::Python => option.in_python(),
        }
    }

    /// Returns an option as a caller gives it, without a particular value: `--overwrite` and `--codec`, or
    /// `overwrite=True` and `codecs=...`.
    #[must_use]
    pub fn given(self, option: CopyOption) -> String {
        let name = self.name(option);
        match self {
            Self::Program => name.to_owned(),
            Self::Python if option.is_switch() => format!("{name}=True"),
            Self::Python => format!("{name}=..."),
        }
    }

    /// Returns an option with a value: `--pass 2` or `partition_pass=2`.
    #[must_use]
    pub fn with(self, option: CopyOption, value: impl Display) -> String {
        let name = self.name(option);
        match self {
            Self::Program => format!("{name} {value}"),
            Self::Python => format!("{name}={value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_their_caller_writes_them() {
        let texts = |caller: Caller| {
            [
                caller.name(CopyOption::MaxReads).to_owned(),
                caller.given(CopyOption::SkipUnreadable),
                caller.given(CopyOption::Codecs),
                caller.with(CopyOption::Pass, 2),
            ]
        };
        assert_eq!(texts(Caller::Program), ["--max-reads", "--skip-unreadable", "--codec", "--pass 2"]);
        assert_eq!(
            texts(Caller::Python),
            ["max_reads", "skip_unreadable=True", "codecs=...", "partition_pass=2"]
        );
    }

    #[test]
    fn every_option_has_a_name_in_each_notation() {
        for option in CopyOption::ALL {
            let [program, python] = [Caller::Program, Caller::Python].map(|caller| caller.name(option));
            assert!(program.starts_with("--"), "{program}");
            assert!(!python.starts_with('-') && !python.contains('-'), "{python}");
        }
    }
}
