//! Runs the plan of a copy.

use std::collections::BTreeSet;

use zarr_engine::{Array, Error, ErrorKind, Hierarchy, Node};

use super::array_plan::ArrayPlan;
use super::error::{CopyError, DifferentCopy};
use super::existing::{find_difference, have_same_elements};
use super::incomplete::Description;
use super::options::CopyOption;
use super::plan::CopyPlan;
use super::progress::CopyProgress;
use super::share::{Part, Share};
use super::state::{OtherPlan, Skipped, State};
use super::text;
use super::transfer::{How, Transfer};

/// The result of a run.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CopySummary {
    /// Whether the copy is complete: its metadata is written, and no parts are missing.
    pub is_complete: bool,
    /// The number of parts of the copy.
    pub parts: u64,
    /// The parts that must run before the copy is complete, or before the second pass.
    pub missing_parts: Vec<u64>,
    /// The number of arrays in the copy.
    pub arrays: usize,
    /// The number of groups in the copy.
    pub groups: usize,
    /// The bytes of elements that this run has copied, in all passes.
    pub bytes: u64,
    /// Whether an interrupted copy was continued.
    pub is_resumed: bool,
    /// Nodes and chunks that were left out, by all parts.
    pub skipped: Vec<Skipped>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl CopySummary {
    /// Names the missing parts: `parts 2 and 3 of 4 are missing`. Returns `None` if no parts are missing.
    #[must_use]
    pub fn missing_text(&self) -> Option<String> {
        let missing = &self.missing_parts;
        (!missing.is_empty()).then(|| text::missing_parts(missing, self.parts))
    }
}

/// The passes that a run takes over arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Both passes, array by array.
    Both,
    First,
    Second,
}

impl CopyPlan {
    /// Copies the elements, and then writes the metadata, which makes the copy complete. In a copy in several parts,
    /// the first part creates the metadata, and the part that finds all other parts complete removes the markers of the
    /// copy. Until then, [`incomplete_copies`](super::incomplete_copies) returns the copy.
    ///
    /// # Errors
    ///
    /// [`CopyError::Request`] if the destination contradicts the request; then nothing was written.
    /// [`CopyError::Incomplete`] if the copy was interrupted by an error, or cancelled: a run with
    /// [`CopyRequest::resume`](super::CopyRequest::resume) continues it. [`CopyError::Engine`].
    pub fn run(&self, progress: &CopyProgress) -> Result<CopySummary, CopyError> {
        progress.check()?;
        let which = self.which_passes()?;
        let state = match self.store.capabilities().listable {
            true => Some(State::new(&self.store, &self.digest)?),
            false => None,
        };
        let is_begun = state.as_ref().map_or(Ok(false), State::is_begun)?;
        let parts = self.request.part.count();
        if which == Which::Second {
            self.refuse_early_second_pass(state.as_ref(), is_begun)?;
        }
        let is_resumed = is_begun && (self.request.resume || parts > 1);
        let destination = match &self.existing {
            Some(existing) => existing.clone(),
            None => self.target.create(self.store.clone())?,
        };
        let mut running =
            Running { plan: self, destination, state, progress, is_resumed, arrays: Vec::new() };
        let others = running.others()?;
        running.prepare()?;
        if !is_resumed {
            running.begin(&others)?;
        }
        if parts > 1 {
            running.create_documents().map_err(|error| match error {
                CopyError::Request(_) => error,
                error => running.interrupted(error),
            })?;
        }
        let copied = running.copy(which).and_then(|()| running.finish(which));
        let copied = copied.and_then(|summary| {
            self.store.commit()?;
            Ok(summary)
        });
        let mut summary = copied.map_err(|error| running.interrupted(error))?;
        summary.warnings.extend(running.destination.warnings().iter().map(ToString::to_string));
        Ok(summary)
    }

    fn which_passes(&self) -> Result<Which, CopyError> {
        let caller = self.request.caller;
        let has_two = self.arrays.iter().any(|array| array.passes() > 1);
        match (self.request.part.count() > 1, has_two, self.request.pass) {
            (false, _, None) => Ok(Which::Both),
            (true, true, Some(1)) | (true, false, None) => Ok(Which::First),
            (true, true, Some(2)) => Ok(Which::Second),
            (true, true, _) => {
                let [first, second] = [1, 2].map(|pass| caller.with(CopyOption::Pass, pass));
                Err(CopyError::message(format!(
                    "some arrays take two passes: run all parts with {first}, and then all parts with {second}"
                )))
            }
            (true, false, Some(_)) => {
                let option = caller.name(CopyOption::Pass);
                Err(CopyError::message(format!("every array takes one pass; leave out {option}")))
            }
            (false, ..) => {
                let [pass, partition] =
                    [CopyOption::Pass, CopyOption::Partition].map(|option| caller.name(option));
                Err(CopyError::message(format!("{pass} needs {partition}: one process runs both passes")))
            }
        }
    }

    fn refuse_early_second_pass(&self, state: Option<&State>, is_begun: bool) -> Result<(), CopyError> {
        let parts = self.request.part.count();
        let first = self.request.caller.with(CopyOption::Pass, 1);
        let Some(state) = state.filter(|_| is_begun) else {
            return Err(CopyError::message(format!(
                "the first pass of this plan has not begun: run all parts with {first}"
            )));
        };
        let missing = state.missing_parts(1, parts)?;
        if missing.is_empty() {
            return Ok(());
        }
        let missing = text::missing_parts(&missing, parts);
        Err(CopyError::message(format!("the first pass is not complete: {missing}; run {first} first")))
    }

    /// Returns the description for the folder of the plan.
    fn description(&self) -> Description {
        let parts = self.request.part.count();
        let arrays = match parts {
            1 => Vec::new(),
            _ => self.arrays.iter().map(|array| array.path.to_string()).collect(),
        };
        let passes = self.arrays.iter().map(ArrayPlan::passes).max().unwrap_or(1);
        Description { parts, passes, sources: self.sources.clone(), arrays }
    }

    /// Returns the bytes of elements of all arrays.
    fn size(&self) -> u64 {
        self.arrays.iter().fold(0, |sum, array| sum.saturating_add(array.size))
    }
}

/// A run of a plan.
pub(super) struct Running<'a> {
    pub(super) plan: &'a CopyPlan,
    pub(super) destination: Hierarchy,
    state: Option<State>,
    progress: &'a CopyProgress,
    is_resumed: bool,
    /// The arrays that are copied. Their documents exist if another part has created them.
    pub(super) arrays: Vec<(&'a ArrayPlan, Array)>,
}

impl<'a> Running<'a> {
    pub(super) fn part(&self) -> Part {
        self.plan.request.part
    }

    /// Returns the other copies that have begun in the destination. Each of them has one part.
    ///
    /// # Errors
    ///
    /// [`CopyError::Request`] if one of the copies has several parts, which may be running.
    fn others(&self) -> Result<Vec<OtherPlan>, CopyError> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        state.replaceable_others(self.part().count(), self.plan.request.caller)
    }

    /// Erases arrays that are replaced, and prepares the new arrays.
    fn prepare(&mut self) -> Result<(), CopyError> {
        for path in &self.plan.replaced {
            self.destination.erase_keeping_parent(path.to_string())?;
        }
        for array in self.plan.arrays.iter().filter(|array| !array.is_complete) {
            let prepared = self.prepared(array)?;
            self.arrays.push((array, prepared));
        }
        Ok(())
    }

    /// Returns an array of the copy. Another part may already have created the array.
    fn prepared(&self, array: &ArrayPlan) -> Result<Array, CopyError> {
        match self.destination.prepare_array(array.path.to_string(), array.metadata.clone()) {
            Err(error @ Error::InTheWay(_)) if self.part().count() > 1 => {
                match self.destination.node(&array.path)? {
                    Node::Array(there) if *there.metadata() == array.metadata => Ok(*there),
                    _ => Err(error.into()),
                }
            }
            prepared => Ok(prepared?),
        }
    }

    /// Makes sure that no chunks of another copy remain, and marks this copy as begun.
    fn begin(&mut self, others: &[OtherPlan]) -> Result<(), CopyError> {
        let parts = self.part().count();
        let Some(state) = &self.state else {
            return self.arrays.iter().try_for_each(|(_, array)| Ok(array.erase_leftovers()?));
        };
        others.iter().try_for_each(|other| state.remove_other(other))?;
        if parts == 1 {
            // An earlier attempt of this plan is not continued, so its markers and chunks are removed.
            state.remove()?;
            for (_, array) in &self.arrays {
                array.erase_leftovers()?;
            }
        } else {
            self.refuse_remains(state)?;
        }
        state.begin(&self.plan.description())?;
        // A part may run again, so chunks in the destination count as written by this copy.
        self.is_resumed = parts > 1;
        Ok(())
    }

    /// Returns an error if the destination has documents or chunks of another copy.
    fn refuse_remains(&self, state: &State) -> Result<(), CopyError> {
        let has_documents = self.missing_arrays()?.len() < self.arrays.len();
        let what = match () {
            () if has_documents => {
                "other parts have completed the copy in the meantime; `zarrctl diff` compares it with the source"
            }
            () if self.has_chunks()? => {
                "the destination has chunks of the new arrays, without metadata; remove them with `zarrctl clean`"
            }
            () => return Ok(()),
        };
        // If another part has begun in the meantime, it has written these documents and chunks.
        if state.is_begun()? { Ok(()) } else { Err(CopyError::message(what)) }
    }

    fn has_chunks(&self) -> Result<bool, CopyError> {
        for (_, array) in &self.arrays {
            if !array.stored_chunks()?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn copy(&self, which: Which) -> Result<(), CopyError> {
        let part = self.part();
        let total = self.plan.size();
        let passes = |array: &ArrayPlan| match which {
            Which::Both => array.passes(),
            Which::First => 1,
            Which::Second => array.passes() - 1,
        };
        let work = self.arrays.iter().map(|(plan, _)| plan.size.saturating_mul(passes(plan)));
        self.progress.begin(work.fold(0, u64::saturating_add) / part.count());
        let mut before = 0_u64;
        for array in &self.plan.arrays {
            let share = Share::new(part, before, array.size, total);
            before = before.saturating_add(array.size);
            let Some((plan, to)) = self.arrays.iter().find(|(plan, _)| plan.path == array.path) else {
                continue;
            };
            self.progress.begin_array(to.path().to_string());
            self.copy_array(&Transfer { plan, to, share, how: self.how() }, which)?;
        }
        Ok(())
    }

    fn how(&self) -> How<'_> {
        How {
            is_lossy: self.plan.request.lossy,
            skips: self.plan.request.skip_unreadable,
            is_resumed: self.is_resumed,
            memory: self.plan.settings.memory,
            state: self.state.as_ref(),
            progress: self.progress,
            caller: self.plan.request.caller,
        }
    }

    fn copy_array(&self, transfer: &Transfer<'_>, which: Which) -> Result<(), CopyError> {
        let Transfer { plan, .. } = transfer;
        match which {
            Which::First => transfer.first_pass(),
            Which::Second => transfer.second_pass(),
            Which::Both if plan.passes() == 1 => transfer.first_pass(),
            Which::Both => {
                let path = plan.path.to_string();
                let state = self.state.as_ref();
                if self.is_resumed && state.map_or(Ok(false), |state| state.is_array_finished(&path))? {
                    self.progress.add(plan.size.saturating_mul(plan.passes()));
                    return Ok(());
                }
                transfer.first_pass()?;
                transfer.second_pass()?;
                state.map_or(Ok(()), |state| state.finish_array(&path))?;
                transfer.remove_between()
            }
        }
    }

    /// Marks this part as complete. If all parts are complete, completes the copy.
    fn finish(&self, which: Which) -> Result<CopySummary, CopyError> {
        let part = self.part();
        let mut summary = self.summary()?;
        if let Some(state) = self.state.as_ref().filter(|_| part.count() > 1) {
            let pass = if which == Which::Second { 2 } else { 1 };
            state.finish_part(pass, part)?;
            summary.missing_parts = state.missing_parts(pass, part.count())?;
            let has_second = which == Which::First && self.plan.request.pass.is_some();
            // If the description is gone, another part has completed the copy in the meantime.
            let is_over = !has_second && !state.is_begun()?;
            if has_second || (!summary.missing_parts.is_empty() && !is_over) {
                return Ok(summary);
            }
            if is_over {
                state.remove()?;
                summary.missing_parts.clear();
                summary.is_complete = true;
                return Ok(summary);
            }
        }
        self.complete(&mut summary)?;
        Ok(summary)
    }

    fn summary(&self) -> Result<CopySummary, CopyError> {
        let mut skipped: BTreeSet<Skipped> = self.plan.skipped.iter().cloned().collect();
        if let Some(state) = &self.state {
            skipped.extend(state.skipped()?);
        }
        Ok(CopySummary {
            parts: self.part().count(),
            arrays: self.plan.arrays.len(),
            groups: self.plan.groups.len(),
            bytes: self.progress.done(),
            is_resumed: self.is_resumed,
            skipped: skipped.into_iter().collect(),
            ..CopySummary::default()
        })
    }

    /// Writes the metadata of a copy in one part: groups first, so that `clean` finds chunks without arrays if the call
    /// is interrupted. Removes the markers.
    fn complete(&self, summary: &mut CopySummary) -> Result<(), CopyError> {
        if self.plan.request.verify {
            self.verify()?;
        }
        let is_alone = self.part().count() == 1;
        if is_alone {
            self.write_groups()?
        } else {
            self.check_documents()?
        }
        for (from, others) in &self.plan.others {
            summary.warnings.extend(others.copy(&**from, &*self.plan.store)?);
        }
        if is_alone {
            self.publish()?;
        }
        if self.plan.request.consolidate {
            self.destination.consolidate("/")?;
        }
        summary.is_complete = true;
        self.state.as_ref().map_or(Ok(()), State::remove)
    }

    /// Reads the copies of all arrays, and compares them with their sources.
    fn verify(&self) -> Result<(), CopyError> {
        let settings = self.plan.settings.clone().progress(self.progress.chunks());
        for (plan, copy) in &self.arrays {
            self.progress.begin_array(format!("{} (verifying)", copy.path()));
            match have_same_elements(&plan.source, copy, &settings) {
                Ok(true) => {}
                Ok(false) => {
                    find_difference(&plan.source, copy, &settings)?;
                    let what = "the digests differed, but when they were read again, all chunks were equal";
                    return Err(CopyError::Different(DifferentCopy {
                        path: copy.path().to_string(),
                        chunk: None,
                        key: None,
                        what: what.to_owned(),
                    }));
                }
                // The chunk may be one of the copy or of the source.
                Err(CopyError::Engine(error)) if error.kind() == ErrorKind::Damaged => {
                    find_difference(&plan.source, copy, &settings)?;
                    return Err(error.into());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the error of a copy that has begun. If one process runs the copy and no chunks exist, the markers are
    /// removed, so that nothing remains.
    fn interrupted(&self, error: CopyError) -> CopyError {
        // The original error is more important than an error of a listing.
        let has_chunks = self.has_chunks().unwrap_or(true);
        if has_chunks || self.part().count() > 1 {
            return CopyError::Incomplete(Box::new(error));
        }
        if let Some(state) = &self.state {
            let _removed = state.remove();
        }
        error
    }
}
