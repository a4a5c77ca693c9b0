//! Lines of samples, and the neighbours of a sample.

use crate::gradients::{Gradients, number};
use crate::parameters::Parameters;

/// A line of a component and the line above it. The first and the last sample of each line are outside of the image.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) above: Vec<i32>,
    pub(crate) current: Vec<i32>,
    /// The part of the context of each sample that depends on the line above.
    pub(crate) contexts: Vec<i32>,
    /// The run index.
    pub(crate) run: usize,
}

impl Lines {
    /// Creates the lines before the first line of the image. Their samples are 0.
    pub(crate) fn new(width: usize) -> Self {
        let [above, current, contexts] = [(); 3].map(|()| vec![0; width + 2]);
        Self { above, current, contexts, run: 0 }
    }

    /// Returns the samples of the line.
    pub(crate) fn samples(&self) -> &[i32] {
        &self.current[1..self.current.len() - 1]
    }

    pub(crate) fn start_line(&mut self, parameters: &Parameters) {
        std::mem::swap(&mut self.above, &mut self.current);
        let width = self.above.len() - 2;
        self.above[width + 1] = self.above[width];
        self.current[0] = self.above[1];
        // The compiler turns this loop into vector instructions.
        for (context, above) in self.contexts[1..].iter_mut().zip(self.above.windows(3)) {
            let to_right = number(above[2] - above[1], parameters);
            *context = 81 * to_right + 9 * number(above[1] - above[0], parameters);
        }
    }

    /// Returns the samples left of a position, above it and above left.
    pub(crate) fn around(&self, at: usize) -> Around {
        Around { left: self.current[at - 1], above: self.above[at], left_above: self.above[at - 1] }
    }

    /// Returns the context of the sample at a position.
    pub(crate) fn context(&self, at: usize, gradients: &Gradients) -> i32 {
        self.contexts[at] + gradients.between(self.current[at - 1], self.above[at - 1])
    }
}

/// The neighbours of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    pub(crate) left: i32,
    pub(crate) above: i32,
    pub(crate) left_above: i32,
}

impl Around {
    /// Returns the prediction: the median of the neighbours and of the plane through them.
    #[inline]
    pub(crate) fn median(self) -> i32 {
        let smaller = self.left.min(self.above);
        let larger = self.left.max(self.above);
        (self.left + self.above - self.left_above).min(larger).max(smaller)
    }
}
