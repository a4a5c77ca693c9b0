//! Examples for help texts. The tests run each of them in a folder with the output of `zarrctl demo demo`.

pub(super) const ALL: &str = "Examples:
  zarrctl demo new
  zarrctl tree new/v3
  zarrctl info new/v3 image/mandelbrot
  zarrctl copy new/v3 copy.zarr --format v2";

pub(super) const DEMO: &str = "Examples:
  zarrctl demo new";

pub(super) const TREE: &str = "Examples:
  zarrctl tree demo/v3
  zarrctl tree demo/v3 weather --json";

pub(super) const INFO: &str = "Examples:
  zarrctl info demo/v3 image/mandelbrot
  zarrctl info demo/v2 --json";

pub(super) const LS: &str = "Examples:
  zarrctl ls demo/v3
  zarrctl ls demo/v3 weather --long";

pub(super) const CAT: &str = "Examples:
  zarrctl cat demo/v3 weather/temperature";

pub(super) const DU: &str = "Examples:
  zarrctl du demo/v3
  zarrctl du demo/v3 --depth 1 --bytes";

pub(super) const SHOW: &str = "Examples:
  zarrctl show demo/v3 weather/temperature
  zarrctl show demo/v3 image/mandelbrot --select 100:200,100:200 --picture
  zarrctl show demo/v3 image/mandelbrot --png mandelbrot.png";

pub(super) const GET: &str = "Examples:
  zarrctl get demo/v3 image/mandelbrot --select 0:4,0:4 --format json
  zarrctl get demo/v3 image/mandelbrot -o mandelbrot.npy
  zarrctl get demo/v3 weather/temperature --select time=2024-03-01 --cf --format csv
  zarrctl get demo/v3 weather/stations -o stations.csv";

pub(super) const BENCH: &str = "Examples:
  zarrctl bench demo/v3 image/mandelbrot --seconds 0.1";

pub(super) const CREATE: &str = r#"Examples:
  zarrctl create new.zarr temperature --shape 365,180,360 --dtype float32
  zarrctl create new.zarr ocean --group --attr 'title="Measurements"'
  zarrctl create demo/v3 image/larger --like image/mandelbrot --shape 960,1440
  zarrctl create new.zarr mask --shape 9,9 --dtype bool --codec zstd:'{"level":3}'
  zarrctl create new.zarr elevation --shape 64,64 --dtype int16 --shards 32,32 --chunks 8,8"#;

pub(super) const PUT: &str = "Examples:
  zarrctl get demo/v3 image/mandelbrot -o mandelbrot.npy
  zarrctl put demo/v2 image/mandelbrot mandelbrot.npy
  zarrctl put demo/v2 image/mandelbrot --value 0 --select 0:10
  zarrctl get demo/v3 weather/stations -o list.csv
  zarrctl put demo/v2 weather/stations list.csv
  zarrctl get demo/v3 image/mask --format raw | zarrctl put demo/v2 image/mask -";

pub(super) const COPY: &str = "Examples:
  zarrctl copy demo/v3 v2.zarr --format v2
  zarrctl copy demo/v3 rechunked.zarr --path image --chunks 120,120
  zarrctl copy demo/v3 series.zarr --chunks time=-1,y=80 --exclude words
  zarrctl copy demo/v3 march.zarr --path weather --exclude stations --select time=2024-03
  zarrctl copy demo/v3 verified.zarr --codec zstd --verify --resume
  zarrctl copy demo/v3 jobs.zarr --chunks y=80 --partition 1/2
  zarrctl copy demo/v3 jobs.zarr --chunks y=80 --partition 2/2
  zarrctl copy demo/v3-draft v3.zarr --format v3 --dry-run";

pub(super) const PACK: &str = "Examples:
  zarrctl pack demo/v3 demo.zip
  zarrctl tree demo.zip";

pub(super) const REFERENCES: &str = "Examples:
  zarrctl references demo/v3 -o demo.json
  zarrctl references demo/v2 --parquet demo.parq --record-size 10000
  zarrctl tree reference:demo.json";

#[cfg(feature = "serve")]
pub(super) const SERVE: &str = "Examples:
  zarrctl serve demo/v3 --port 0
  zarrctl serve demo/v3 --port 0 --origin https://example.org";

pub(super) const ERASE: &str = "Examples:
  zarrctl erase demo/v3 weather/stations";

pub(super) const RESIZE: &str = "Examples:
  zarrctl resize demo/v3 image/mandelbrot --shape 600,720";

pub(super) const ATTRS: &str = r#"Examples:
  zarrctl attrs demo/v3 weather/temperature
  zarrctl attrs demo/v3 weather/temperature units
  zarrctl attrs demo/v3 weather/temperature --set-text 'comment=from a formula'
  zarrctl attrs demo/v3 weather/temperature --set valid_max=60 --set 'source="formula"'"#;

pub(super) const DIGEST: &str = "Examples:
  zarrctl digest demo/v3
  zarrctl digest demo/v2 image --manifest image.json";

pub(super) const DIFF: &str = "Examples:
  zarrctl diff demo/v3 demo/v2 --path image/mandelbrot
  zarrctl diff demo/v3 demo/v3 --absolute 1e-6 --json";

pub(super) const VERIFY: &str = "Examples:
  zarrctl verify demo/v3 --picture
  zarrctl digest demo/v3 --manifest demo.json && zarrctl verify demo/v3 --manifest demo.json
  zarrctl verify demo/v2 --level sizes --json";

pub(super) const REPAIR: &str = "Examples:
  zarrctl repair demo/v3
  zarrctl repair demo/v3 --run";

pub(super) const CONSOLIDATE: &str = "Examples:
  zarrctl consolidate demo/v3";

pub(super) const CLEAN: &str = "Examples:
  zarrctl clean demo/v3 --dry-run
  zarrctl clean demo/v3 --older-than 2h";

pub(super) const PLUGINS: &str = "Examples:
  zarrctl plugins
  zarrctl plugins show zstd";

pub(super) const PLUGINS_LIST: &str = "Examples:
  zarrctl plugins list --long";

pub(super) const PLUGINS_SHOW: &str = "Examples:
  zarrctl plugins show zstd
  zarrctl plugins show float32 --json";

pub(super) const PLUGINS_NEW: &str = "Examples:
  zarrctl plugins new codec example.invert
  zarrctl plugins new layout example.spiral --uri https://example.org/layouts/spiral/1.0";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_WHY: &str = "Examples:
  zarrctl plugins why zstd";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_PACK: &str = "Examples:
  zarrctl plugins pack libxor.so
  zarrctl plugins pack libxor.so -o packed";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_INSTALL: &str = "Examples:
  zarrctl plugins pack libxor.so
  zarrctl plugins install dist";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_TRUST: &str = "Examples:
  zarrctl plugins pack libxor.so
  zarrctl plugins install dist
  zarrctl plugins trust xor-c";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_REMOVE: &str = "Examples:
  zarrctl plugins pack libxor.so
  zarrctl plugins install dist
  zarrctl plugins remove xor-c";

#[cfg(all(feature = "conformance", feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_PROBE: &str = "Examples:
  zarrctl plugins probe libxor.so --level L1";

#[cfg(all(feature = "dynamic", target_os = "linux"))]
pub(super) const PLUGINS_DIRS: &str = "Examples:
  zarrctl plugins dirs";

#[cfg(feature = "conformance")]
pub(super) const CONFORMANCE: &str = "Examples:
  zarrctl conformance plugin zstd --level L1
  zarrctl conformance store memory: --level L1";

#[cfg(feature = "conformance")]
pub(super) const CONFORMANCE_PLUGIN: &str = "Examples:
  zarrctl conformance plugin zstd gzip --level L1
  zarrctl conformance plugin crc32c --html report.html";

#[cfg(feature = "conformance")]
pub(super) const CONFORMANCE_STORE: &str = "Examples:
  zarrctl conformance store empty --level L1
  zarrctl conformance store demo/v3 --inside --level L1";

#[cfg(feature = "conformance")]
pub(super) const CONFORMANCE_FORMAT: &str = "Examples:
  zarrctl conformance format --list";

pub(super) const COMPLETIONS: &str = "Examples:
  zarrctl completions bash > zarrctl.bash";

pub(super) const MAN: &str = "Examples:
  zarrctl man man1";

/// The help text of verbs that this build does not have.
#[cfg(not(all(feature = "conformance", feature = "dynamic", feature = "serve", target_os = "linux")))]
pub(super) const FULL: &str = "Run a build with this verb in a clone of the repository:
  cargo run --release -p zarrctl --features full -- --help";
