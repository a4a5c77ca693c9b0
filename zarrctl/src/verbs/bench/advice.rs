//! What measurements say about the shapes of chunks and about codecs: sentences, by arithmetic alone.

use zarr_kit::Format;

use super::boxes::Access;
use crate::describe::shape;
use crate::terminal::{ratio, size};

/// Bytes of elements below which times say nothing.
const LITTLE: u64 = 64 << 10;
/// Bytes of a store's answer below which asking takes longer than the answer.
const SMALL_ANSWER: u64 = 64 << 10;
/// Answers of a store of which it can be said what they have in common.
const SEVERAL: u64 = 16;
/// Bytes in a second that nobody complains of: memory itself is not many times as fast.
const FAST: u64 = 2 << 30;
/// Seconds that decoding one chunk may take before somebody who wants little of it minds.
const LONG: f64 = 0.25;
/// Elements that are decoded for one that is wanted, from which on planes should be mentioned.
const MUCH_MORE: f64 = 8.0;

/// What was read, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) access: Access,
    /// Elements of the last part that was read, per dimension.
    pub(super) shape: Vec<u64>,
    /// Parts that were read.
    pub(super) reads: u64,
    /// Elements that were wanted.
    pub(super) elements: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
    /// Chunks, or inner chunks, that were decoded.
    pub(super) chunks: u64,
    /// Elements in these; where nothing is decoded, elements that were fetched.
    pub(super) elements_decoded: u64,
    /// Values and parts of values that the store was asked for.
    pub(super) calls: u64,
    /// Bytes that it gave.
    pub(super) stored: u64,
    pub(super) times: Times,
}

/// Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    /// Of reading.
    pub(super) all: f64,
    /// Of fetching the same bytes, and nothing else.
    pub(super) store: f64,
    /// Of decoding them.
    pub(super) codec: f64,
}

/// What most of the time goes to.
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
    /// What is neither fetching nor decoding: copying elements, mostly.
    pub(super) fn copy(&self) -> f64 {
        (self.all - self.store - self.codec).max(0.0)
    }

    /// How much of the time each of the three takes, of 1; all 0 if there is none.
    pub(super) fn shares(&self) -> [(Limit, f64); 3] {
        let parts = [(Limit::Store, self.store), (Limit::Codec, self.codec), (Limit::Copy, self.copy())];
        let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        parts.map(|(limit, seconds)| (limit, if sum > 0.0 { seconds / sum } else { 0.0 }))
    }

    /// What takes the most of it.
    pub(super) fn limit(&self) -> Limit {
        let shares = self.shares();
        let most = shares.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        most.map_or(Limit::Copy, |(limit, _)| limit)
    }

    /// Whether this alone takes more than half of it.
    fn is_mostly(&self, limit: Limit) -> bool {
        self.shares().into_iter().any(|(of, share)| of == limit && share > 0.5)
    }
}

impl Measured {
    /// Elements that are decoded, or fetched where nothing is decoded, for each that is wanted.
    pub(super) fn amplification(&self) -> f64 {
        ratio(self.elements_decoded, self.elements.max(1))
    }

    /// Bytes of elements in a second, if that can be said.
    pub(super) fn rate(&self) -> Option<u64> {
        rate(self.bytes, self.times.all)
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub(super) format: Format,
    /// Bytes of all elements, or a guess.
    pub(super) size: u64,
    /// Elements of a chunk, or of an inner chunk, per dimension.
    pub(super) chunk: Vec<u64>,
    /// Bytes of one, or a guess.
    pub(super) chunk_size: u64,
    pub(super) has_shards: bool,
    /// Names of the codecs that turn bytes into bytes.
    pub(super) compressors: Vec<String>,
    /// Whether elements are stored as they are, so that parts of chunks can be fetched.
    pub(super) is_raw: bool,
}

impl Subject {
    /// Whether times are longer than those of the clock and the system.
    pub(super) fn is_little(&self) -> bool {
        self.size < LITTLE
    }

    fn chunk_name(&self) -> &'static str {
        if self.has_shards { "inner chunk" } else { "chunk" }
    }
}

/// What whoever chooses the chunks of the next array should know.
pub(super) fn advice(subject: &Subject, measured: &[Measured]) -> Vec<String> {
    if subject.is_little() {
        return vec![format!("there is too little to measure: {} of elements", size(subject.size))];
    }
    let planes = measured.iter().filter_map(|measured| of_plane(subject, measured));
    let mut sentences: Vec<String> = planes.collect();
    let rows = || measured.iter().filter(|measured| matches!(measured.access, Access::Chunk | Access::Slab));
    sentences.extend(rows().filter_map(|measured| of_store(subject, measured)).next());
    let chunks = measured.iter().find(|measured| measured.access == Access::Chunk);
    sentences.extend(chunks.and_then(|measured| of_large_chunks(subject, measured)));
    sentences.extend(rows().filter_map(|measured| of_codec(subject, measured)).next());
    if sentences.is_empty() {
        sentences.push("nothing that was measured asks for other chunks or codecs".to_owned());
    }
    sentences
}

fn of_plane(subject: &Subject, measured: &Measured) -> Option<String> {
    let Access::Plane(along) = measured.access else { return None };
    let length = *subject.chunk.get(along).filter(|&&length| length > 1)?;
    let times = measured.amplification();
    // What has one dimension has no planes: somebody who wants one element has to decode more.
    if subject.chunk.len() < 2 || times < MUCH_MORE {
        return None;
    }
    let reads = if subject.is_raw { "fetches" } else { "decodes" };
    let name = subject.chunk_name();
    Some(format!(
        "a plane of dimension {along} {reads} {} × as many elements as it wants: {name}s shorter than {length} along \
         dimension {along} would help whoever reads such planes",
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
        let cure = match (subject.has_shards, subject.format) {
            (true, _) => "larger inner chunks would help",
            (false, Format::V2) => "larger chunks would help",
            (false, _) => "larger chunks would help, or shards that hold many of them",
        };
        return Some(format!(
            "{calls} answers of the store with {each} each: most of the time goes to asking, such as opening files; \
             {cure}"
        ));
    }
    let speed = rate(measured.stored, measured.times.store).filter(|&speed| speed < FAST)?;
    let cure = match subject.is_raw {
        true => "; a codec that compresses, such as lz4, zstd or blosc, leaves less to fetch",
        false => "; a codec that compresses more leaves less to fetch",
    };
    Some(format!("the store limits: it gives {}/s of stored bytes{cure}", size(speed)))
}

fn of_large_chunks(subject: &Subject, measured: &Measured) -> Option<String> {
    if measured.chunks == 0 {
        return None;
    }
    let seconds = measured.times.codec / ratio(measured.chunks, 1);
    if seconds < LONG {
        return None;
    }
    let cure = match (subject.has_shards, subject.format) {
        (true, _) => "smaller inner chunks",
        (false, Format::V2) => "smaller chunks",
        (false, _) => "smaller chunks, or shards with inner chunks,",
    };
    Some(format!(
        "one {} of {} decodes in {:.0} ms: {cure} would help whoever wants a part of it",
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
            "decoding {name} limits, to {speed}/s of elements: lz4, or blosc with lz4 inside, decodes faster and \
             compresses less"
        ),
        None => {
            let names = subject.compressors.iter().map(|name| format!("{name} ")).collect::<String>();
            format!("decoding {names}limits, to {speed}/s of elements")
        }
    })
}

/// Whether lz4 decodes many times as fast.
fn is_slow(codec: &str) -> bool {
    let name = codec.strip_prefix("numcodecs.").unwrap_or(codec);
    ["zstd", "gzip", "zlib", "bz2", "lzma"].contains(&name)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "what people read has three digits"
)]
fn rate(bytes: u64, seconds: f64) -> Option<u64> {
    (seconds > 0.0 && bytes > 0).then(|| (bytes as f64 / seconds) as u64)
}

/// With two digits, or all before the point.
pub(super) fn factor(times: f64) -> String {
    if times < 9.95 { format!("{times:.1}") } else { format!("{times:.0}") }
}

/// With commas between thousands.
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

    /// 8 reads of a chunk's 1 MiB; a tenth of the time is the store's, and as much the codec's.
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

    const NOTHING: &str = "nothing that was measured asks for other chunks or codecs";

    #[test]
    fn what_fits_needs_no_advice() {
        let rows = [Access::Plane(0), Access::Slab, Access::Chunk, Access::Box].map(measured);
        assert_eq!(advice(&subject(), &rows), [NOTHING]);
        assert_eq!(advice(&subject(), &[]), [NOTHING]);
    }

    #[test]
    fn planes_that_decode_much_ask_for_shorter_chunks() {
        let plane = Measured { elements: 8 << 12, ..measured(Access::Plane(2)) };
        let sentence = "a plane of dimension 2 decodes 128 × as many elements as it wants: chunks shorter than 128 along \
                        dimension 2 would help whoever reads such planes";
        assert_eq!(advice(&subject(), std::slice::from_ref(&plane)), [sentence]);
        let shards = Subject { has_shards: true, ..subject() };
        assert!(advice(&shards, std::slice::from_ref(&plane))[0].contains("wants: inner chunks shorter"));
        let raw = Subject { is_raw: true, compressors: Vec::new(), ..subject() };
        assert!(advice(&raw, std::slice::from_ref(&plane))[0].contains("dimension 2 fetches 128 ×"));
        let flat = Subject { chunk: vec![64, 64, 1], ..subject() };
        assert_eq!(advice(&flat, &[plane]), [NOTHING]);
        let line = Subject { chunk: vec![1 << 19], ..subject() };
        assert_eq!(advice(&line, &[Measured { elements: 8, ..measured(Access::Plane(0)) }]), [NOTHING]);
    }

    #[test]
    fn many_small_answers_ask_for_larger_chunks() {
        let row = Measured {
            calls: 4096,
            stored: 4096 * 2048,
            times: Times { all: 1.0, store: 0.7, codec: 0.2 },
            ..measured(Access::Slab)
        };
        let said = |subject: Subject| advice(&subject, std::slice::from_ref(&row)).remove(0);
        assert_eq!(
            said(subject()),
            "4,096 answers of the store with 2.0 KiB each: most of the time goes to asking, such as opening files; \
             larger chunks would help, or shards that hold many of them"
        );
        assert!(
            said(Subject { format: Format::V2, ..subject() }).ends_with("files; larger chunks would help")
        );
        assert!(
            said(Subject { has_shards: true, ..subject() }).ends_with("; larger inner chunks would help")
        );
        let few = Measured { calls: 15, stored: 15 * 2048, ..row.clone() };
        assert_eq!(advice(&subject(), &[few]), [NOTHING]);
        // Once is enough.
        let both = [row.clone(), Measured { access: Access::Chunk, ..row.clone() }];
        assert_eq!(advice(&subject(), &both).len(), 1);
    }

    #[test]
    fn a_store_that_gives_large_values_slowly_is_told_with_its_speed() {
        let times = Times { all: 1.0, store: 0.8, codec: 0.1 };
        let row = Measured { stored: 8 << 20, times, ..measured(Access::Chunk) };
        assert_eq!(
            advice(&subject(), std::slice::from_ref(&row)),
            [
                "the store limits: it gives 10.0 MiB/s of stored bytes; a codec that compresses more leaves less to fetch"
            ]
        );
        let plain = Subject { is_raw: true, compressors: Vec::new(), ..subject() };
        assert!(advice(&plain, &[row])[0].contains("such as lz4, zstd or blosc"));
    }

    #[test]
    fn a_chunk_that_decodes_long_asks_for_smaller_ones() {
        let times = Times { all: 7.9, store: 0.1, codec: 7.2 };
        let row = Measured { times, ..measured(Access::Chunk) };
        let said = advice(&subject(), std::slice::from_ref(&row));
        assert_eq!(
            said[0],
            "one chunk of 64 × 64 × 128 decodes in 900 ms: smaller chunks, or shards with inner chunks, would help \
             whoever wants a part of it"
        );
        let of_v2 = advice(&Subject { format: Format::V2, ..subject() }, std::slice::from_ref(&row));
        assert!(
            of_v2[0].ends_with("900 ms: smaller chunks would help whoever wants a part of it"),
            "{of_v2:?}"
        );
        // That chunks are decoded one after another says nothing of slabs, where threads share them.
        assert_eq!(advice(&subject(), &[Measured { access: Access::Slab, ..row }]).len(), 1);
    }

    #[test]
    fn slow_codecs_are_told_with_faster_ones() {
        let row = Measured { times: Times { all: 1.0, store: 0.1, codec: 0.8 }, ..measured(Access::Chunk) };
        let said = |names: &[&str]| {
            let compressors = names.iter().map(|&name| name.to_owned()).collect();
            advice(&Subject { compressors, ..subject() }, std::slice::from_ref(&row)).remove(0)
        };
        let zstd = "decoding zstd limits, to 8.0 MiB/s of elements: lz4, or blosc with lz4 inside, decodes faster and \
                    compresses less";
        assert_eq!(said(&["zstd"]), zstd);
        assert!(said(&["crc32c", "numcodecs.bz2"]).starts_with("decoding numcodecs.bz2 limits"));
        assert_eq!(said(&["numcodecs.lz4"]), "decoding numcodecs.lz4 limits, to 8.0 MiB/s of elements");
        assert_eq!(said(&[]), "decoding limits, to 8.0 MiB/s of elements");
    }

    #[test]
    fn what_is_as_fast_as_memory_is_not_judged() {
        for times in
            [Times { all: 1e-3, store: 9e-4, codec: 0.0 }, Times { all: 1e-3, store: 0.0, codec: 9e-4 }]
        {
            let row = Measured { times, ..measured(Access::Chunk) };
            assert_eq!(advice(&subject(), &[row]), [NOTHING]);
        }
    }

    #[test]
    fn little_is_not_judged() {
        let little = Subject { size: 24, ..subject() };
        let row = Measured { times: Times { all: 1.0, store: 0.9, codec: 0.0 }, ..measured(Access::Chunk) };
        assert_eq!(advice(&little, &[row]), ["there is too little to measure: 24 B of elements"]);
    }

    #[test]
    fn nothing_at_all_divides_by_nothing() {
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
        // Passes of their own may take longer than reading does, with threads that wait for one another.
        let times = Times { all: 1.0, store: 0.5, codec: 2.0 };
        assert_eq!((times.copy(), times.limit()), (0.0, Limit::Codec));
        assert_eq!((factor(1.0), factor(9.96), factor(127.6)), ("1.0".into(), "10".into(), "128".into()));
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
    }
}
