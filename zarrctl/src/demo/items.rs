//! The arrays of the demo. Formulas define their elements, so every run writes the same arrays.

use zarr_kit::spec::{Object, Value};
use zarr_kit::{ArrayBuilder, Format, json};

pub(super) struct Item {
    pub(super) path: &'static str,
    pub(super) builder: ArrayBuilder,
    pub(super) content: Content,
}

/// Elements in C order.
pub(super) enum Content {
    /// Numbers in native byte order.
    Fixed(Vec<u8>),
    Text(Vec<&'static str>),
}

/// Words for "sea" in several scripts.
const WORDS: [&str; 8] = ["sea", "mar", "θάλασσα", "море", "بحر", "समुद्र", "海", "바다"];

/// Returns the arrays of a hierarchy in `format`.
pub(super) fn all(format: Format) -> Vec<Item> {
    vec![
        mandelbrot(format),
        mask(),
        interference(),
        spectrum(format),
        times(),
        temperatures(format),
        stations(),
        words(),
    ]
}

fn units(units: &str) -> Object {
    [("units", units)].into()
}

/// Returns the escape times of the Mandelbrot set.
fn mandelbrot(format: Format) -> Item {
    let height = 480u32;
    let width = 720u32;
    let escape = |row: u32, column: u32| {
        let cx = f64::from(column) / 240.0 - 2.15;
        let cy = f64::from(row) / 200.0 - 1.2;
        let mut x = 0.0f64;
        let mut y = 0.0f64;
        let mut steps = 0u16;
        while x * x + y * y < 16.0 && steps < 255 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            steps += 1;
        }
        // The square root makes small differences visible.
        f64::from(steps).sqrt()
    };
    let builder = ArrayBuilder::new([480, 720], "uint16").dimension_names(["y", "x"]);
    let builder = match format {
        Format::V3 => {
            builder.chunks([60, 60]).shards([240, 240]).codec(("zstd", [("level", 9)])).codec("crc32c")
        }
        Format::V2 => builder.chunks([120, 120]).codec(("zlib", [("level", 9)])),
        Format::V3Draft => builder.chunks([120, 120]).codec(("gzip", [("level", 9)])),
    };
    let content = elements(height, width, |row, column| thousandths(escape(row, column)).to_ne_bytes());
    Item { path: "/image/mandelbrot", builder, content }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the root of at most 255 is below 16"
)]
fn thousandths(value: f64) -> u16 {
    (value * 1000.0) as u16
}

fn mask() -> Item {
    let builder = ArrayBuilder::new([480, 720], "bool").chunks([480, 720]).codec(("gzip", [("level", 5)]));
    let content = elements(480, 720, |row, column| [u8::from((row / 60 + column / 60).is_multiple_of(2))]);
    Item { path: "/image/mask", builder, content }
}

/// Returns the interference of two circular waves.
fn interference() -> Item {
    let wave = |row: u32, column: u32| {
        let from = |y: f64, x: f64| (f64::from(row) - y).hypot(f64::from(column) - x) / 6.0;
        // Rounding makes the values compressible.
        narrow(((from(80.0, 60.0).sin() + from(180.0, 200.0).sin()) * 128.0).round() / 256.0)
    };
    let blosc = r#"{"cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}"#;
    let builder = ArrayBuilder::new([256, 256], "float32")
        .chunks([64, 64])
        .fill_value("NaN")
        .codec(("blosc", crate::values::json(blosc).unwrap_or(Value::Null)))
        .dimension_names(["y", "x"]);
    let content = elements(256, 256, |row, column| wave(row, column).to_ne_bytes());
    Item { path: "/image/interference", builder, content }
}

#[expect(clippy::cast_possible_truncation, reason = "half the precision is enough for a picture")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// Returns a rotating phase, stored big endian in v2.
fn spectrum(format: Format) -> Item {
    let phase = |row: u32, column: u32| {
        let angle = f64::from(row * column) / 64.0;
        let [real, imaginary] = [narrow(angle.cos()), narrow(angle.sin())].map(f32::to_ne_bytes);
        let mut element = [0; 8];
        element[..4].copy_from_slice(&real);
        element[4..].copy_from_slice(&imaginary);
        element
    };
    let data_type = if format == Format::V2 { ">c8" } else { "complex64" };
    let builder = ArrayBuilder::new([128, 64], data_type)
        .chunks([32, 64])
        .codec(("transpose", json!({"order": [1, 0]})))
        .codec(("zstd", [("level", 3)]));
    // v2 and the draft declare the order of dimensions outside of the codecs.
    let builder = match format {
        Format::V3 => builder,
        _ => ArrayBuilder::new([128, 64], data_type)
            .chunks([32, 64])
            .order(zarr_kit::Order::F)
            .codec(("gzip", [("level", 6)])),
    };
    Item { path: "/spectrum", builder, content: elements(128, 64, phase) }
}

/// Returns a time for every ten minutes of the year 2024.
fn times() -> Item {
    let start = 1_704_067_200i64;
    let counts = (0..52_704i64).flat_map(|number| (start + 600 * number).to_ne_bytes());
    let builder = ArrayBuilder::new([52_704], "<M8[s]")
        .chunks([8_784])
        .codec(("shuffle", [("elementsize", 8)]))
        .codec(("gzip", [("level", 5)]))
        .dimension_names(["time"]);
    Item { path: "/weather/time", builder, content: Content::Fixed(counts.collect()) }
}

/// Returns temperatures of the year 2024, in tenths of a degree.
fn temperatures(format: Format) -> Item {
    let turn =
        |number: i32, period: i32| (f64::from(number) / f64::from(period) * std::f64::consts::TAU).sin();
    let temperature = |number: i32| {
        ((9.0 - 8.0 * turn(number + 13_000, 52_704) - 3.0 * turn(number, 144)) * 10.0).round() / 10.0
    };
    let bytes = (0..52_704).flat_map(|number| temperature(number).to_ne_bytes());
    let builder = ArrayBuilder::new([52_704], "float64").chunks([8_784]).attributes(units("degree_Celsius"));
    let builder = match format {
        Format::V2 => builder.codec(("shuffle", [("elementsize", 8)])).codec(("bz2", [("level", 9)])),
        _ => builder.codec(("bz2", [("level", 9)])),
    };
    let builder = builder.dimension_names(["time"]);
    Item { path: "/weather/temperature", builder, content: Content::Fixed(bytes.collect()) }
}

/// Returns structures of a number, a name, a latitude and a longitude.
fn stations() -> Item {
    let fields = r#"[["number","<u2"],["name","|S10"],["latitude","<f4"],["longitude","<f4"]]"#;
    let stations: [(u16, &str, [f32; 2]); 4] = [
        (10, "Helgoland", [54.17, 7.89]),
        (461, "Zugspitze", [47.42, 10.98]),
        (3126, "Magdeburg", [52.10, 11.58]),
        (5100, "Trier", [49.75, 6.66]),
    ];
    let mut bytes = Vec::new();
    for (number, name, position) in stations {
        bytes.extend(number.to_ne_bytes());
        let mut padded = [0; 10];
        padded[..name.len()].copy_from_slice(name.as_bytes());
        bytes.extend(padded);
        bytes.extend(position.iter().flat_map(|degrees| degrees.to_ne_bytes()));
    }
    let data_type = crate::values::json(fields).unwrap_or(Value::Null);
    let builder = ArrayBuilder::new([4], data_type).chunks([4]).codec(("zstd", [("level", 3)]));
    Item { path: "/weather/stations", builder, content: Content::Fixed(bytes) }
}

fn words() -> Item {
    let builder = ArrayBuilder::new([8], "string").chunks([3]).codec("vlen-utf8");
    let builder = builder.codec(("zstd", [("level", 3)]));
    Item { path: "/words", builder, content: Content::Text(WORDS.to_vec()) }
}

fn elements<const N: usize>(height: u32, width: u32, of: impl Fn(u32, u32) -> [u8; N]) -> Content {
    let places = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
    Content::Fixed(places.flat_map(|(row, column)| of(row, column)).collect())
}
