//! An instance of a module: its memory, its functions and its limits.

use std::ops::Range;

use wasmi::errors::{ErrorKind, InstantiationError, MemoryError};
use wasmi::{
    AsContextMut, Func, Instance, Memory, Nullable, Ref, Store, Table, TrapCode, TypedFunc, WasmParams,
    WasmResults,
};
use zarr_plugin::Failure;
use zarr_plugin::abi::describe::Described;
use zarr_plugin::abi::{self, Buf, Output, Str};

use crate::failure::trapped;
use crate::host::{self, Lent, State};
use crate::library::Module;
use crate::{FUEL_OF_A_CALL, FUEL_PER_BYTE, FUEL_PER_CALL, GUEST_MEMORY, MEMORY_PER_BYTE};

/// An address in the memory of a guest, or the index of a function in its table.
pub(crate) type Address = u32;

/// The maximum size of a text or document from a guest, in bytes.
const MAX_TEXT: u32 = 16 << 20;

/// An instance of a module with a single owner.
#[derive(Debug)]
pub(crate) struct Guest {
    store: Store<State>,
    instance: Instance,
    table: Table,
    /// The function `reserve` of `zarr_output`. The next field is the function `warn` of `zarr_creation`.
    reserve: Address,
    pub(crate) warn: Address,
    /// Whether the guest was stopped, so that its state is unknown.
    is_dead: bool,
}

impl Guest {
    /// Creates an instance; only its start function runs.
    pub(crate) fn new(module: &Module) -> Result<Self, Failure> {
        let mut store = Store::new(module.engine(), State::new());
        store.limiter(|state| &mut state.limits);
        refuel(&mut store)?;
        let instance = Instance::new(&mut store, module.code(), &[]);
        let instance = instance.map_err(|error| stopped(&error, store.data()))?;
        let memory = instance.get_memory(&store, "memory");
        store.data_mut().memory = memory;
        let table = instance.get_table(&store, crate::library::TABLE);
        let table = table.ok_or_else(|| Failure::broken("it does not have a function table"))?;
        let reserve = Func::wrap(&mut store, host::reserve);
        let reserve = add_function(&mut store, table, reserve)?;
        let warn = Func::wrap(&mut store, host::warn);
        let warn = add_function(&mut store, table, warn)?;
        Ok(Self { store, instance, table, reserve, warn, is_dead: false })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Returns an exported function of the module, if there is one.
    pub(crate) fn export<P: WasmParams, R: WasmResults>(&self, name: &str) -> Option<TypedFunc<P, R>> {
        self.instance.get_typed_func(&self.store, name).ok()
    }

    /// Returns the function for a pointer, or `None` for NULL.
    pub(crate) fn function<P: WasmParams, R: WasmResults>(
        &self,
        pointer: Address,
        name: &str,
    ) -> Result<Option<TypedFunc<P, R>>, Failure> {
        if pointer == 0 {
            return Ok(None);
        }
        let Some(Ref::Func(Nullable::Val(function))) = self.table.get(&self.store, pointer.into()) else {
            return Err(Failure::broken(format!(
                "its function `{name}` is number {pointer}, which does not exist"
            )));
        };
        match function.typed(&self.store) {
            Ok(function) => Ok(Some(function)),
            Err(_) => Err(Failure::broken(format!("its function `{name}` has another signature"))),
        }
    }

    /// Starts a call with `given` bytes of input. Frees everything that earlier calls placed in the guest's memory.
    pub(crate) fn begin(&mut self, given: usize) {
        self.store.data_mut().begin(given);
    }

    /// Calls a function with the fuel of one call.
    pub(crate) fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        function: &TypedFunc<P, R>,
        arguments: P,
    ) -> Result<R, Failure> {
        refuel(&mut self.store)?;
        function.call(&mut self.store, arguments).map_err(|error| {
            self.is_dead = true;
            stopped(&error, self.store.data())
        })
    }

    /// Returns the result of a call, which returned `status` and may have filled `err`.
    pub(crate) fn outcome(&mut self, status: i32, err: Address) -> Result<(), Failure> {
        let text = self.take(err);
        if status == abi::OK {
            return Ok(());
        }
        self.is_dead |= status == abi::PANICKED;
        let text = match text {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(failure) => failure.message,
        };
        Err(Failure::new(status, if text.is_empty() { "it gives no reason".to_owned() } else { text }))
    }

    /// Takes the warnings of the last call.
    pub(crate) fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.store.data_mut().warnings)
    }

    /// Copies bytes into the guest's memory.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> Result<Address, Failure> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let at = host::place(&mut self.store.as_context_mut(), bytes.len())?;
        self.bytes_mut(at, bytes.len())?.copy_from_slice(bytes);
        Ok(at)
    }

    /// Copies bytes into the guest's memory. Returns the address and the length in the form of a `zarr_str`.
    pub(crate) fn put_text(&mut self, bytes: &[u8]) -> Result<u64, Failure> {
        let at = self.put_bytes(bytes)?;
        Ok(u64::from(at) | (bytes.len() as u64) << 32)
    }

    /// Places a struct with these members in the guest's memory; all other members are zero.
    pub(crate) fn put<T: Described>(&mut self, members: &[(&str, u64)]) -> Result<Address, Failure> {
        let size = T::WASM32.size;
        let at = host::place(&mut self.store.as_context_mut(), size)?;
        self.bytes_mut(at, size)?.fill(0);
        if T::WASM32.member("struct_size").is_some() {
            self.set::<T>(at, "struct_size", size as u64)?;
        }
        for &(member, value) in members {
            self.set::<T>(at, member, value)?;
        }
        Ok(at)
    }

    /// Writes a member of a struct in the guest's memory.
    pub(crate) fn set<T: Described>(&mut self, at: Address, member: &str, value: u64) -> Result<(), Failure> {
        let place = member_of::<T>(member)?;
        let value = value.to_le_bytes();
        let value = value.get(..place.len()).ok_or_else(|| no_number::<T>(member))?;
        self.bytes_mut(offset(at, place.start)?, place.len())?.copy_from_slice(value);
        Ok(())
    }

    /// Reads a member of a struct in the guest's memory. Returns zero if the struct is too short to contain it.
    pub(crate) fn get<T: Described>(&self, at: Address, member: &str) -> Result<u64, Failure> {
        let place = member_of::<T>(member)?;
        if let Some(size) = T::WASM32.member("struct_size") {
            let end = self.number(at, size.len())?;
            if end < size.len() as u64 {
                return Err(Failure::broken(format!("the declared size of a struct is {end} bytes")));
            }
            if (place.end as u64) > end {
                return Ok(0);
            }
        }
        if place.len() > 8 {
            return Err(no_number::<T>(member));
        }
        self.number(offset(at, place.start)?, place.len())
    }

    /// Reads a member as [`Guest::get`] does. A value that does not fit in 32 bits is an error.
    pub(crate) fn get_u32<T: Described>(&self, at: Address, member: &str) -> Result<u32, Failure> {
        u32::try_from(self.get::<T>(at, member)?).map_err(|_| no_number::<T>(member))
    }

    /// Returns the address of a struct that is a member of another.
    pub(crate) fn inside<T: Described>(at: Address, member: &str) -> Result<Address, Failure> {
        offset(at, member_of::<T>(member)?.start)
    }

    /// Returns the bytes of a `zarr_str`.
    pub(crate) fn text(&self, at: Address, most: u32) -> Result<&[u8], Failure> {
        let start = self.get_u32::<Str>(at, "ptr")?;
        let len = self.get_u32::<Str>(at, "len")?;
        if len > most {
            return Err(Failure::broken(format!("it has a text of {len} bytes; the limit is {most}")));
        }
        if len == 0 { Ok(&[]) } else { self.bytes(start, len as usize) }
    }

    /// Copies the content of a `zarr_buf` and releases it.
    pub(crate) fn take(&mut self, buffer: Address) -> Result<Vec<u8>, Failure> {
        let start = self.get_u32::<Buf>(buffer, "ptr")?;
        let len = self.get_u32::<Buf>(buffer, "len")?;
        let taken = match (start, len) {
            (_, 0) => Ok(Vec::new()),
            (0, _) => Err(Failure::broken(format!("it returned {len} bytes at NULL"))),
            (_, len) if len > MAX_TEXT => Err(Failure::broken(format!("it returned a text of {len} bytes"))),
            _ => self.bytes(start, len as usize).map(<[u8]>::to_vec),
        };
        let release = self.get_u32::<Buf>(buffer, "release")?;
        if let Some(release) = self.function::<u32, ()>(release, "release")? {
            self.call(&release, buffer)?;
        }
        taken
    }

    /// Provides output memory for at most `limit` bytes, with an expected size of `likely` bytes.
    pub(crate) fn lend(&mut self, limit: usize, likely: usize) -> Result<Address, Failure> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let first = likely.max(self.store.data().usual).min(limit as usize);
        let shown = self.put::<Output>(&[("limit", limit.into()), ("reserve", self.reserve.into())])?;
        let mut context = self.store.as_context_mut();
        let start = host::place(&mut context, first.max(1))?;
        let lent =
            Lent { shown, start, capacity: u32::try_from(first).unwrap_or(limit), limit, refused: false };
        context.data_mut().lent = Some(lent);
        context.data_mut().give(first);
        host::show(&mut context, &lent)?;
        Ok(shown)
    }

    /// Returns the bytes that the guest has written to the output.
    pub(crate) fn written(&self) -> Result<&[u8], Failure> {
        let Some(lent) = self.store.data().lent else { return Ok(&[]) };
        if lent.refused {
            return Err(Failure::new(
                abi::LIMIT_EXCEEDED,
                format!("the output exceeds {} bytes", lent.limit),
            ));
        }
        let len = self.get_u32::<Output>(lent.shown, "len")?;
        if len > lent.capacity {
            return Err(Failure::broken(format!(
                "it reports {len} written bytes, but the capacity is {}",
                lent.capacity
            )));
        }
        self.bytes(lent.start, len as usize)
    }

    /// Returns a part of the guest's memory.
    pub(crate) fn bytes(&self, at: Address, len: usize) -> Result<&[u8], Failure> {
        let memory = memory_of(&self.store)?.data(&self.store);
        part(memory.len(), at, len)
            .and_then(|part| memory.get(part))
            .ok_or_else(|| outside(at, len, memory.len()))
    }

    fn bytes_mut(&mut self, at: Address, len: usize) -> Result<&mut [u8], Failure> {
        let memory = memory_of(&self.store)?.data_mut(&mut self.store);
        let size = memory.len();
        part(size, at, len).and_then(|part| memory.get_mut(part)).ok_or_else(|| outside(at, len, size))
    }

    /// Returns the pointer at an address.
    pub(crate) fn address_at(&self, at: Address) -> Result<Address, Failure> {
        let address = u32::try_from(self.number(at, 4)?);
        address.map_err(|_| Failure::broken("a pointer has more than 32 bits"))
    }

    fn number(&self, at: Address, len: usize) -> Result<u64, Failure> {
        let bytes = self.bytes(at, len)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }
}

fn refuel(store: &mut Store<State>) -> Result<(), Failure> {
    let fuel = store.data().fuel;
    store.set_fuel(fuel).map_err(|error| Failure::broken(error.to_string()))
}

/// Returns the reason for which a guest was stopped.
fn stopped(error: &wasmi::Error, state: &State) -> Failure {
    let trap = error.as_trap_code();
    let is_out_of_fuel = matches!(error.kind(), ErrorKind::Fuel(_)) || trap == Some(TrapCode::OutOfFuel);
    let is_too_large = trap == Some(TrapCode::GrowthOperationLimited)
        || matches!(
            error.kind(),
            ErrorKind::Memory(MemoryError::ResourceLimiterDeniedAllocation)
                | ErrorKind::Instantiation(InstantiationError::FailedToInstantiateMemory(_))
        );
    trapped(if is_out_of_fuel {
        format!(
            "it used more than {} units of fuel, the limit of this call: {FUEL_PER_CALL}, plus {FUEL_PER_BYTE} for each \
             byte of input and output (an instruction takes 1, a call {FUEL_OF_A_CALL})",
            state.fuel
        )
    } else if is_too_large {
        format!(
            "it asked for more memory than {} bytes, the limit of this call: {GUEST_MEMORY}, plus {MEMORY_PER_BYTE} for each \
             byte of input and output",
            state.own_limit()
        )
    } else {
        format!("it was stopped: {error}")
    })
}

fn memory_of(store: &Store<State>) -> Result<Memory, Failure> {
    store.data().memory.ok_or_else(|| Failure::broken("it does not have a memory"))
}

pub(crate) fn member_of<T: Described>(member: &str) -> Result<Range<usize>, Failure> {
    let place = T::WASM32.member(member);
    place.ok_or_else(|| Failure::broken(format!("{} has no member `{member}`", T::WASM32.name)))
}

fn no_number<T: Described>(member: &str) -> Failure {
    Failure::broken(format!("`{member}` of {} is not a number of the expected size", T::WASM32.name))
}

pub(crate) fn offset(at: Address, bytes: usize) -> Result<Address, Failure> {
    let moved = u32::try_from(bytes).ok().and_then(|bytes| at.checked_add(bytes));
    moved.ok_or_else(|| Failure::broken(format!("it points to {at}, at the end of its memory")))
}

fn part(size: usize, at: Address, len: usize) -> Option<Range<usize>> {
    let start = usize::try_from(at).ok()?;
    let end = start.checked_add(len)?;
    (end <= size).then_some(start..end)
}

pub(crate) fn outside(at: Address, len: usize, size: usize) -> Failure {
    Failure::broken(format!("it points to {len} bytes at {at}, but its memory has {size} bytes"))
}

/// Adds a function of the host to the guest's function table and returns its index.
fn add_function(store: &mut Store<State>, table: Table, function: Func) -> Result<Address, Failure> {
    let index = table.grow(store, 1, Ref::from(Nullable::Val(function)));
    let index = index.ok().and_then(|index| u32::try_from(index).ok()).filter(|&index| index != 0);
    index.ok_or_else(|| Failure::broken("its function table cannot grow: link it with --growable-table"))
}
