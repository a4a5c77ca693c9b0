//! Errors of the steps of a pipeline.

use zarr_spec::CodecError;
use zarr_spec::host::pipeline::Step;

/// An error, the name of the codec that failed, and the index of the inner chunk that failed, if the codec decodes or
/// encodes whole shards.
#[derive(Debug)]
pub(crate) struct StepError {
    pub(crate) codec: Option<String>,
    pub(crate) inner: Option<Vec<u64>>,
    pub(crate) source: CodecError,
}

/// An error of a codec, and the index of the inner chunk that failed, if the codec decodes or encodes whole shards.
#[derive(Debug)]
pub(super) struct StepFault {
    pub(super) inner: Option<Vec<u64>>,
    pub(super) source: CodecError,
}

impl<E: Into<CodecError>> From<E> for StepFault {
    fn from(source: E) -> Self {
        Self { inner: None, source: source.into() }
    }
}

impl StepError {
    /// Returns an error of the chunk that no codec caused.
    pub(crate) fn chunk(what: impl Into<String>) -> Self {
        CodecError::corrupt(what.into()).into()
    }

    /// Converts this error to an error of the enclosing codec. `wrapped` creates the new error from a text with the
    /// name of the failed codec. Errors of size and memory, and faults of plugins, are not converted, because they do
    /// not mean that the chunk is corrupt.
    pub(crate) fn within(self, wrapped: impl FnOnce(String) -> CodecError) -> CodecError {
        let Some(codec) = self.codec else { return self.source };
        match self.source {
            source @ (CodecError::TooLarge(_) | CodecError::OutOfMemory { .. }) => source,
            CodecError::Plugin { plugin, message } => {
                CodecError::Plugin { plugin, message: format!("codec `{codec}`: {message}") }
            }
            source => wrapped(format!("codec `{codec}`: {source}")),
        }
    }

    pub(super) fn at(step: &Step, fault: impl Into<StepFault>) -> Self {
        let StepFault { inner, source } = fault.into();
        Self { codec: Some(step.name.clone()), inner, source }
    }

    /// Like [`StepError::at`], for a step that decodes.
    pub(super) fn decoding(step: &Step, mut fault: StepFault) -> Self {
        if let Some(too_large) = step.intermediate_too_large(&fault.source) {
            fault.source = CodecError::corrupt(too_large);
        }
        Self::at(step, fault)
    }

    /// Like [`StepError::at`], for a step that encodes; `next` is the following step.
    pub(super) fn encoding(step: &Step, next: Option<&Step>, mut fault: StepFault) -> Self {
        if let Some(too_large) = next.and_then(|next| next.intermediate_too_large(&fault.source)) {
            fault.source = CodecError::encode(too_large);
        }
        Self::at(step, fault)
    }
}

impl From<CodecError> for StepError {
    fn from(source: CodecError) -> Self {
        Self { codec: None, inner: None, source }
    }
}
