//! The runner without Zarr: creates the data, and measures the limits of the machine and of the codec libraries.

mod blosc;
mod codecs;
mod far;
mod files;

use std::process::ExitCode;

use zarr_kit::Memory;
use zarr_peers::{About, Case, Failure, Floor, Operation, Program, Ran, Task, serve, timed};

struct Floors {
    threads: usize,
}

impl Program for Floors {
    fn about(&self) -> About {
        About { name: "floor", version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    fn prepare(&self, case: Case) -> Result<Box<dyn Task>, Failure> {
        let threads = self.threads;
        let (Operation::Floor, Some(floor)) = (case.operation, case.floor.clone()) else {
            return Err("this runner measures only floors".into());
        };
        Ok(match floor {
            Floor::Memcpy => {
                let source = case.read_elements()?;
                let mut target = Memory::zeroed(source.len())?;
                target.fill(1);
                Box::new(move || {
                    let ((), seconds) = timed(|| copy(&source, &mut target, threads))?;
                    Ok(Ran { seconds, checksum: 0 })
                })
            }
            Floor::FilesRead => files::read(&case, threads)?,
            Floor::FilesReadKept => files::read_kept(&case, threads)?,
            Floor::FilesWrite => files::write(&case, threads)?,
            Floor::FarRead => far::read(&case, &files::chunk_files(&case)?)?,
            Floor::Decode { codec, chunk } => codecs::decode(&case, &codec, &chunk, threads)?,
            Floor::Encode { codec, chunk } => codecs::encode(&case, &codec, &chunk, threads)?,
        })
    }
}

fn copy(source: &[u8], target: &mut [u8], threads: usize) -> Result<(), Failure> {
    let part = source.len().div_ceil(threads).max(1);
    let parts: Vec<_> = source.chunks(part).zip(target.chunks_mut(part)).collect();
    on_threads(parts, threads, |(), (source, target)| {
        target.copy_from_slice(source);
        Ok(())
    })
}

/// Distributes `parts` in order to threads. Each thread reuses its own state.
fn on_threads<T: Send, K: Default>(
    parts: Vec<T>,
    threads: usize,
    work: impl Fn(&mut K, T) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let parts = std::sync::Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    let one = || {
        let mut kept = K::default();
        while let Some(part) = next() {
            work(&mut kept, part)?;
        }
        Ok(())
    };
    if threads == 1 {
        return one();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        let mut results = vec![one()];
        for other in others {
            results.push(other.join().unwrap_or_else(|_| Err("a thread panicked".into())));
        }
        results.into_iter().collect()
    })
}

fn main() -> ExitCode {
    let threads = std::env::args().nth(1).and_then(|threads| threads.parse().ok());
    let Some(threads) = threads.filter(|&threads| threads > 0) else {
        eprintln!("usage: peer-floors THREADS");
        return ExitCode::from(2);
    };
    match serve(&Floors { threads }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer-floors: {error}");
            ExitCode::from(1)
        }
    }
}
