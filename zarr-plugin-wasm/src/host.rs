//! The host's part of a guest: pages of memory, and functions that the guest can call.

use std::ops::Range;

use wasmi::{AsContext, AsContextMut, Caller, Memory, StoreContextMut, StoreLimits, StoreLimitsBuilder};
use zarr_plugin::Failure;
use zarr_plugin::abi::{self, Output};

use crate::guest::{Address, member_of, offset, outside};
use crate::{FUEL_PER_BYTE, FUEL_PER_CALL, GUEST_MEMORY, MEMORY_PER_BYTE};

const PAGE: u64 = 1 << 16;

/// The maximum number of warnings per call, and the maximum size of a warning in bytes.
const MAX_WARNINGS: usize = 16;
const MAX_WARNING: u32 = 4 << 10;

/// The initial capacity of an output of unknown size, in bytes.
const FIRST_CAPACITY: usize = 1 << 16;

/// The state that the host has for one guest.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) memory: Option<Memory>,
    /// The pages that the host has added to the guest's memory for itself.
    regions: Vec<Region>,
    pub(crate) limits: StoreLimits,
    /// The number of bytes of input and output in this call.
    pub(crate) given: usize,
    pub(crate) fuel: u64,
    pub(crate) lent: Option<Lent>,
    /// The largest output capacity so far.
    pub(crate) usual: usize,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
struct Region {
    bytes: Range<u64>,
    /// The start of the part that is free in this call.
    free: u64,
}

/// The output of a call, in the host's own copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lent {
    pub(crate) shown: Address,
    pub(crate) start: Address,
    pub(crate) capacity: u32,
    pub(crate) limit: u32,
    pub(crate) refused: bool,
}

impl State {
    /// Creates the state of a new guest.
    pub(crate) fn new() -> Self {
        Self {
            memory: None,
            regions: Vec::new(),
            limits: limits(GUEST_MEMORY),
            given: 0,
            fuel: FUEL_PER_CALL,
            lent: None,
            usual: FIRST_CAPACITY,
            warnings: Vec::new(),
        }
    }

    /// Resets the state for a call, and frees what earlier calls placed in memory.
    pub(crate) fn begin(&mut self, given: usize) {
        for region in &mut self.regions {
            region.free = region.bytes.start;
        }
        self.lent = None;
        self.warnings.clear();
        self.given = 0;
        self.fuel = FUEL_PER_CALL;
        self.give(given);
    }

    /// Raises the limits of the call for `bytes` additional bytes of input or output.
    pub(crate) fn give(&mut self, bytes: usize) {
        self.given = self.given.saturating_add(bytes);
        self.fuel = self.fuel.saturating_add((bytes as u64).saturating_mul(FUEL_PER_BYTE));
        self.limit_memory();
    }

    pub(crate) fn own_limit(&self) -> usize {
        GUEST_MEMORY.saturating_add(self.given.saturating_mul(MEMORY_PER_BYTE))
    }

    /// Sets the memory limit to the limit of this call plus the pages of the host.
    fn limit_memory(&mut self) {
        let hosts: u64 = self.regions.iter().map(|region| region.bytes.end - region.bytes.start).sum();
        let hosts = usize::try_from(hosts).unwrap_or(usize::MAX);
        self.limits = limits(hosts.saturating_add(self.own_limit()));
    }
}

fn limits(memory: usize) -> StoreLimits {
    let limits = StoreLimitsBuilder::new().instances(1).memories(1).tables(4).table_elements(1 << 16);
    limits.memory_size(memory).trap_on_grow_failure(true).build()
}

/// Allocates `size` bytes in the host's pages.
pub(crate) fn place(context: &mut StoreContextMut<'_, State>, size: usize) -> Result<Address, Failure> {
    const ALIGN: u64 = 16;
    let size = (size as u64).next_multiple_of(ALIGN);
    let fits = |region: &&mut Region| region.bytes.end - region.free >= size;
    let region = context
        .data_mut()
        .regions
        .iter_mut()
        .filter(fits)
        .min_by_key(|region| region.bytes.end - region.free);
    let at = match region {
        Some(region) => {
            let at = region.free;
            region.free += size;
            at
        }
        None => {
            // Rounding limits the number of regions, however many different sizes chunks have.
            let room = size.next_power_of_two().max(PAGE);
            let (start, room) = match grow(context, room) {
                Ok(start) => (start, room),
                Err(_) => (grow(context, size)?, size),
            };
            context.data_mut().regions.push(Region { bytes: start..start + room, free: start + size });
            context.data_mut().limit_memory();
            start
        }
    };
    u32::try_from(at).map_err(|_| Failure::broken("its memory is exhausted"))
}

/// Adds pages for `size` bytes to the guest's memory and returns their address.
fn grow(context: &mut StoreContextMut<'_, State>, size: u64) -> Result<u64, Failure> {
    let memory = context.data().memory.ok_or_else(|| Failure::broken("it does not have a memory"))?;
    context.data_mut().limits = limits(usize::MAX);
    let before = memory.grow(&mut *context, size.div_ceil(PAGE));
    context.data_mut().limit_memory();
    match before {
        Ok(pages) => Ok(pages * PAGE),
        Err(_) => Err(Failure::new(
            abi::UNSUPPORTED,
            format!("its memory of {} bytes cannot grow by {size}", memory.data_size(context.as_context())),
        )),
    }
}

/// Writes the address and the capacity of the output into the guest's struct.
pub(crate) fn show(context: &mut StoreContextMut<'_, State>, lent: &Lent) -> Result<(), Failure> {
    for (member, value) in [("start", lent.start), ("capacity", lent.capacity)] {
        write_u32(context, offset(lent.shown, member_of::<Output>(member)?.start)?, value)?;
    }
    Ok(())
}

fn write_u32(context: &mut StoreContextMut<'_, State>, at: Address, value: u32) -> Result<(), Failure> {
    let memory = context.data().memory.ok_or_else(|| Failure::broken("it does not have a memory"))?;
    let written = memory.write(&mut *context, at as usize, &value.to_le_bytes());
    written.map_err(|_| outside(at, 4, memory.data_size(context.as_context())))
}

/// Implements `reserve` of `zarr_output`.
pub(crate) fn reserve(mut caller: Caller<'_, State>, shown: Address, more: u32) -> i32 {
    let mut context = caller.as_context_mut();
    match reserved(&mut context, shown, more) {
        Ok(given) => {
            let fuel = (given as u64).saturating_mul(FUEL_PER_BYTE);
            let left = context.get_fuel().unwrap_or(0).saturating_add(fuel);
            if context.set_fuel(left).is_ok() { abi::OK } else { abi::INTERNAL }
        }
        Err(failure) => failure.status,
    }
}

/// Grows the output by `more` bytes after those written, and returns the number of additional bytes.
fn reserved(context: &mut StoreContextMut<'_, State>, shown: Address, more: u32) -> Result<usize, Failure> {
    let lent = context.data().lent.filter(|lent| lent.shown == shown);
    let mut lent = lent.ok_or_else(|| Failure::broken("`reserve` was called for an unknown output"))?;
    let memory = context.data().memory.ok_or_else(|| Failure::broken("it does not have a memory"))?;
    let mut len = [0; 4];
    let at = offset(shown, member_of::<Output>("len")?.start)?;
    memory.read(&*context, at as usize, &mut len).map_err(|_| outside(at, 4, 0))?;
    let wanted = u32::from_le_bytes(len).checked_add(more).filter(|&wanted| wanted <= lent.limit);
    let Some(wanted) = wanted else {
        lent.refused = true;
        context.data_mut().lent = Some(lent);
        return Err(Failure::new(abi::LIMIT_EXCEEDED, "the output exceeds its limit"));
    };
    let before = lent.capacity;
    if wanted > before {
        let capacity = wanted.max(before.saturating_mul(2)).min(lent.limit);
        let start = place(context, capacity as usize)?;
        let from = lent.start as usize;
        let to = start as usize;
        let bytes = memory.data_mut(&mut *context);
        // The host chose both addresses in this memory, so no index is out of bounds.
        bytes.copy_within(from..from + before as usize, to);
        (lent.start, lent.capacity) = (start, capacity);
        let state = context.data_mut();
        state.lent = Some(lent);
        state.usual = state.usual.max(capacity as usize);
        state.give((capacity - before) as usize);
    }
    show(context, &lent)?;
    Ok((lent.capacity - before) as usize)
}

/// Implements `warn` of `zarr_creation`. Ignores messages that are not in the guest's memory.
pub(crate) fn warn(mut caller: Caller<'_, State>, _context: Address, message: Address) {
    let context = caller.as_context_mut();
    let Some(memory) = context.data().memory else { return };
    let mut text = [0; 8];
    if memory.read(&context, message as usize, &mut text).is_err() {
        return;
    }
    let text = u64::from_le_bytes(text);
    let at = (text & 0xffff_ffff) as usize;
    let len = (text >> 32) as usize;
    let mut bytes = vec![0; len.min(MAX_WARNING as usize)];
    if memory.read(&context, at, &mut bytes).is_ok() && context.data().warnings.len() < MAX_WARNINGS {
        caller.data_mut().warnings.push(String::from_utf8_lossy(&bytes).into_owned());
    }
}
