//! Derives advice about chunk shapes and codecs from measurements.

use zarr_kit::Format;

use super::boxes::Access;
use crate::describe::shape;
use crate::terminal::{ratio, size};

/// The minimum size of all elements for meaningful times, in bytes.
const LITTLE: u64 = 64 << 10;
/// Responses of fewer bytes take most of their time for the request.
const SMALL_ANSWER: u64 = 64 << 10;
/// The minimum number of requests for advice about their size.
const SEVERAL: u64 = 16;
/// A throughput close to that of memory, in bytes per second, which needs no advice.
const FAST: u64 = 2 << 30;
/// The decoding time of a chunk above which smaller chunks are suggested, in seconds.
const LONG: f64 = 0.25;
/// The number of decoded elements per requested element above which advice mentions planes.
const MUCH_MORE: f64 = 8.0;

/// One measured access pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) access: Access,
    /// The shape of the last part that was read.
    pub(super) shape: Vec<u64>,
    pub(super) reads: u64,
    pub(super) elements: u64,
    /// The size of the read elements in bytes.
    pub(super) bytes: u64,
    /// Number of decoded chunks or inner chunks.
    pub(super) chunks: u64,
    /// Elements in the decoded chunks; fetched elements if nothing is decoded.
    pub(super) elements_decoded: u64,
    pub(super) calls: u64,
    /// The size of the responses in bytes.
    pub(super) stored: u64,
    pub(super) times: Times,
}

/// Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    pub(super) all: f64,
    /// The time for fetching the same bytes again without decoding them.
    pub(super) store: f64,
    pub(super) codec: f64,
}

/// The part that takes the most time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Store,
    Codec,
    Copy,
}

impl Limit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Codec => "codec",
            Self::Copy => "copy",
        }
    }
}

impl Times {
    /// Returns the time that neither the store nor the codec takes, which is usually spent copying elements.
    pub(super) fn copy(&self) -> f64 {
        (self.all - self.store - self.codec).max(0.0)
    }

    /// Returns the share of each part, or 0 for all parts if the time is 0.
    pub(super) fn shares(&self) -> [(Limit, f64); 3] {
        let parts = [(Limit::Store, self.store), (Limit::Codec, self.codec), (Limit::Copy, self.copy())];
        let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        parts.map(|(limit, seconds)| (limit, if sum > 0.0 { seconds / sum } else { 0.0 }))
    }

    pub(super) fn limit(&self) -> Limit {
        let shares = self.shares();
        let most = shares.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map_or(Limit::Copy, |(limit, _)| limit)
    }

    /// Returns whether this part takes more than half of the time.
    fn is_mostly(&self, limit: Limit) -> bool {
        self.shares().into_iter().any(|(of, share)| of == limit && share > 0.5)
    }
}

impl Measured {
    /// Returns the number of decoded elements per requested element, or of fetched elements if nothing is
    /// decoded.
    pub(super) fn amplification(&self) -> f64 {
        ratio(self.elements_decoded, self.elements.max(1))
    }

    /// Returns the elements read per second, in bytes, if defined.
    pub(super) fn rate(&self) -> Option<u64> {
        rate(self.bytes, self.times.all)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub(super) format: Format,
    /// Bytes of all elements; an estimate for variable size.
    pub(super) size: u64,
    /// The shape of a chunk or an inner chunk.
    pub(super) chunk: Vec<u64>,
    /// Bytes of a decoded chunk; an estimate for variable size.
    pub(super) chunk_size: u64,
    pub(super) has_shards: bool,
    /// Names of the bytes-to-bytes codecs.
    pub(super) compressors: Vec<String>,
    /// Whether elements are stored without encoding, so that parts of chunks can be fetched.
    pub(super) is_raw: bool,
}

impl Subject {
    /// Returns whether the array is too small for meaningful times.
    pub(super) fn is_little(&self) -> bool {
        self.size < LITTLE
    }

    fn chunk_name(&self) -> &'static str {
        if self.has_shards { "inner chunk" } else { "chunk" }
    }
}

pub(super) fn advice(subject: &Subject, measured: &[Measured]) -> Vec<String> {
    if subject.is_little() {
        return vec![format!("the array is too small to measure: {} of elements", size(subject.size))];
    }
    let planes = measured.iter().filter_map(|measured| of_plane(subject, measured));
    let mut sentences: Vec<String> = planes.collect();
    let rows = || measured.iter().filter(|measured| matches!(measured.access, Access::Chunk | Access::Slab));
    sentences.extend(rows().filter_map(|measured| of_store(subject, measured)).next());
    let chunks = measured.iter().find(|measured| measured.access == Access::Chunk);
    sentences.extend(chunks.and_then(|measured| of_large_chunks(subject, measured)));
    sentences.extend(rows().filter_map(|measured| of_codec(subject, measured)).next());
    if sentences.is_empty() {
        sentences.push("the chunks and codecs suit the measured access patterns".to_owned());
    }
    sentences
}

fn of_plane(subject: &Subject, measured: &Measured) -> Option<String> {
    let Access::Plane(along) = measured.access else { return None };
    let length = *subject.chunk.get(along).filter(|&&length| length > 1)?;
    let times = measured.amplification();
    // One-dimensional arrays do not have planes: reading one element always decodes a chunk.
    if subject.chunk.len() < 2 || times < MUCH_MORE {
        return None;
    }
    let reads = if subject.is_raw { "fetches" } else { "decodes" };
    let name = subject.chunk_name();
    Some(format!(
        "reading a plane of dimension {along} {reads} {} × the requested elements: {name}s shorter than {length} \
             along dimension {along} would read such planes faster",
        factor(times)
    ))
}

fn of_store(subject: &Subject, measured: &Measured) -> Option<String> {
    if !measured.times.is_mostly(Limit::Store) || measured.calls == 0 {
        return None;
    }
    let answer = measured.stored / measured.calls;
    let calls = grouped(measured.calls);
    let each = size(answer);
    if answer < SMALL_ANSWER {
        if measured.calls < SEVERAL {
            return None;
        }
        let remedy = match (subject.has_shards, subject.format) {
            (true, _) => "larger inner chunks would help",
            (false, Format::V2) => "larger chunks would help",
            (false, _) => "larger chunks would help, or shards that hold many of them",
        };
        return Some(format!(
            "{calls} requests of {each} each: most of the time is spent on the requests themselves, such as \
                 opening files; {remedy}"
        ));
    }
    let speed = rate(measured.stored, measured.times.store).filter(|&speed| speed < FAST)?;
    let remedy = match subject.is_raw {
        true => "; a compressing codec such as lz4, zstd or blosc would reduce the bytes to fetch",
        false => "; a codec with a better ratio would reduce the bytes to fetch",
    };
    Some(format!("the store is the limit: it delivers {}/s of encoded bytes{remedy}", size(speed)))
}

fn of_large_chunks(subject: &Subject, measured: &Measured) -> Option<String> {
    if measured.chunks == 0 {
        return None;
    }
    let seconds = measured.times.codec / ratio(measured.chunks, 1);
    if seconds < LONG {
        return None;
    }
    let remedy = match (subject.has_shards, subject.format) {
        (true, _) => "smaller inner chunks",
        (false, Format::V2) => "smaller chunks",
        (false, _) => "smaller chunks, or shards with inner chunks,",
    };
    Some(format!(
        "decoding one {} of {} takes {:.0} ms: {remedy} would read parts of it faster",
        subject.chunk_name(),
        shape(&subject.chunk),
        seconds * 1e3
    ))
}

fn of_codec(subject: &Subject, measured: &Measured) -> Option<String> {
    if !measured.times.is_mostly(Limit::Codec) {
        return None;
    }
    let speed = size(measured.rate().filter(|&speed| speed < FAST)?);
    let slow = subject.compressors.iter().find(|name| is_slow(name));
    Some(match slow {
        Some(name) => format!(
            "decoding {name} is the limit, at {speed}/s of elements: lz4, or blosc with lz4, decodes faster but \
                 compresses less"
        ),
        None => {
            let names = subject.compressors.iter().map(|name| format!("{name} ")).collect::<String>();
            format!("decoding {names}is the limit, at {speed}/s of elements")
        }
    })
}

/// Returns whether lz4 decodes much faster than this codec.
fn is_slow(codec: &str) -> bool {
    let name = codec.strip_prefix("numcodecs.").unwrap_or(codec);
    ["zstd", "gzip", "zlib", "bz2", "lzma"].contains(&name)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "three digits are printed"
)]
fn rate(bytes: u64, seconds: f64) -> Option<u64> {
    (seconds > 0.0 && bytes > 0).then(|| (bytes as f64 / seconds) as u64)
}

/// Formats a factor with two digits, or with all digits before the decimal point.
pub(super) fn factor(times: f64) -> String {
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            format: Format::V3,
            size: 1 << 30,
            chunk: vec![64, 64, 128],
            chunk_size: 1 << 20,
            has_shards: false,
            compressors: vec!["zstd".to_owned()],
            is_raw: false,
        }
    }

    /// Creates a measurement of 8 reads of 1 MiB, in which store and codec each take a tenth of the time.
    fn measured(access: Access) -> Measured {
        Measured {
            access,
            shape: vec![64, 64, 128],
            reads: 8,
            elements: 8 << 19,
            bytes: 8 << 20,
            chunks: 8,
            elements_decoded: 8 << 19,
            calls: 8,
            stored: 4 << 20,
            times: Times { all: 1.0, store: 0.1, codec: 0.1 },
        }
    }

    const NOTHING: &str = "the chunks and codecs suit the measured access patterns";

    #[test]
    fn suitable_chunks_need_no_advice() {
        let rows = [Access::Plane(0), Access::Slab, Access::Chunk, Access::Box].map(measured);
        assert_eq!(advice(&subject(), &rows), [NOTHING]);
        assert_eq!(advice(&subject(), &[]), [NOTHING]);
    }

    #[test]
    fn planes_that_decode_too_much_suggest_shorter_chunks() {
        let plane = Measured { elements: 8 << 12, ..measured(Access::Plane(2)) };
        let sentence = "reading a plane of dimension 2 decodes 128 × the requested elements: chunks shorter than \
             128 along dimension 2 would read such planes faster";
        assert_eq!(advice(&subject(), std::slice::from_ref(&plane)), [sentence]);
        let shards = Subject { has_shards: true, ..subject() };
        assert!(advice(&shards, std::slice::from_ref(&plane))[0].contains("elements: inner chunks shorter"));
        let raw = Subject { is_raw: true, compressors: Vec::new(), ..subject() };
        assert!(advice(&raw, std::slice::from_ref(&plane))[0].contains("dimension 2 fetches 128 ×"));
        let flat = Subject { chunk: vec![64, 64, 1], ..subject() };
        assert_eq!(advice(&flat, &[plane]), [NOTHING]);
        let line = Subject { chunk: vec![1 << 19], ..subject() };
        assert_eq!(advice(&line, &[Measured { elements: 8, ..measured(Access::Plane(0)) }]), [NOTHING]);
    }

    #[test]
    fn many_small_requests_suggest_larger_chunks() {
        let row = Measured {
            calls: 4096,
            stored: 4096 * 2048,
            times: Times { all: 1.0, store: 0.7, codec: 0.2 },
            ..measured(Access::Slab)
        };
        let said = |subject: Subject| advice(&subject, std::slice::from_ref(&row)).remove(0);
        assert_eq!(
            said(subject()),
            "4,096 requests of 2.0 KiB each: most of the time is spent on the requests themselves, such as \
                 opening files; larger chunks would help, or shards that hold many of them"
        );
        assert!(
            said(Subject { format: Format::V2, ..subject() }).ends_with("files; larger chunks would help")
        );
        assert!(
            said(Subject { has_shards: true, ..subject() }).ends_with("; larger inner chunks would help")
        );
        let few = Measured { calls: 15, stored: 15 * 2048, ..row.clone() };
        assert_eq!(advice(&subject(), &[few]), [NOTHING]);
        // The advice appears only once.
        let both = [row.clone(), Measured { access: Access::Chunk, ..row.clone() }];
        assert_eq!(advice(&subject(), &both).len(), 1);
    }

    #[test]
    fn a_slow_store_is_named_with_its_throughput() {
        let times = Times { all: 1.0, store: 0.8, codec: 0.1 };
        let row = Measured { stored: 8 << 20, times, ..measured(Access::Chunk) };
        assert_eq!(
            advice(&subject(), std::slice::from_ref(&row)),
            ["the store is the limit: it delivers 10.0 MiB/s of encoded bytes; a codec with a better ratio \
                     would reduce \
                     the bytes to fetch"]
        );
        let plain = Subject { is_raw: true, compressors: Vec::new(), ..subject() };
        assert!(advice(&plain, &[row])[0].contains("such as lz4, zstd or blosc"));
    }

    #[test]
    fn a_chunk_with_a_long_decoding_time_suggests_smaller_ones() {
        let times = Times { all: 7.9, store: 0.1, codec: 7.2 };
        let row = Measured { times, ..measured(Access::Chunk) };
        let said = advice(&subject(), std::slice::from_ref(&row));
        assert_eq!(
            said[0],
            "decoding one chunk of 64 × 64 × 128 takes 900 ms: smaller chunks, or shards with inner chunks, would \
                 read parts of it faster"
        );
        let of_v2 = advice(&Subject { format: Format::V2, ..subject() }, std::slice::from_ref(&row));
        assert!(of_v2[0].ends_with("900 ms: smaller chunks would read parts of it faster"), "{of_v2:?}");
        // The time of one chunk does not apply to slabs, whose chunks are decoded in parallel.
        assert_eq!(advice(&subject(), &[Measured { access: Access::Slab, ..row }]).len(), 1);
    }

    #[test]
    fn slow_codecs_are_named_with_faster_ones() {
        let row = Measured { times: Times { all: 1.0, store: 0.1, codec: 0.8 }, ..measured(Access::Chunk) };
        let said = |names: &[&str]| {
            let compressors = names.iter().map(|&name| name.to_owned()).collect();
            advice(&Subject { compressors, ..subject() }, std::slice::from_ref(&row)).remove(0)
        };
        let zstd = "decoding zstd is the limit, at 8.0 MiB/s of elements: lz4, or blosc with lz4, decodes faster \
             but compresses less";
        assert_eq!(said(&["zstd"]), zstd);
        assert!(said(&["crc32c", "numcodecs.bz2"]).starts_with("decoding numcodecs.bz2 is the limit"));
        assert_eq!(said(&["numcodecs.lz4"]), "decoding numcodecs.lz4 is the limit, at 8.0 MiB/s of elements");
        assert_eq!(said(&[]), "decoding is the limit, at 8.0 MiB/s of elements");
    }

    #[test]
    fn reads_as_fast_as_memory_get_no_advice() {
        for times in
            [Times { all: 1e-3, store: 9e-4, codec: 0.0 }, Times { all: 1e-3, store: 0.0, codec: 9e-4 }]
        {
            let row = Measured { times, ..measured(Access::Chunk) };
            assert_eq!(advice(&subject(), &[row]), [NOTHING]);
        }
    }

    #[test]
    fn small_arrays_get_no_advice() {
        let little = Subject { size: 24, ..subject() };
        let row = Measured { times: Times { all: 1.0, store: 0.9, codec: 0.0 }, ..measured(Access::Chunk) };
        assert_eq!(advice(&little, &[row]), ["the array is too small to measure: 24 B of elements"]);
    }

    #[test]
    fn zero_measurements_do_not_divide_by_zero() {
        let times = Times { all: 0.0, store: 0.0, codec: 0.0 };
        let row = Measured {
            reads: 0,
            elements: 0,
            bytes: 0,
            chunks: 0,
            elements_decoded: 0,
            calls: 0,
            stored: 0,
            times,
            ..measured(Access::Chunk)
        };
        assert_eq!((row.amplification(), row.rate()), (0.0, None));
        assert!(times.shares().iter().all(|(_, share)| *share == 0.0));
        assert_eq!(advice(&subject(), &[row]), [NOTHING]);
        // Separate passes may take longer than the read, whose threads overlap.
        let times = Times { all: 1.0, store: 0.5, codec: 2.0 };
        assert_eq!((times.copy(), times.limit()), (0.0, Limit::Codec));
        assert_eq!((factor(1.0), factor(9.96), factor(127.6)), ("1.0".into(), "10".into(), "128".into()));
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
    }
}
