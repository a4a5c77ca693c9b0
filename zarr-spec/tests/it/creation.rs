//! The errors of `Creation::parse` for invalid configurations.

use serde::Deserialize;

use zarr_spec::{Creation, Format, Mode, Reading, Registry};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Location {
    Start,
    End,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only errors are looked at")]
struct Filter {
    level: Level,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "i64")]
struct Level;

impl TryFrom<i64> for Level {
    type Error = String;

    fn try_from(level: i64) -> Result<Self, String> {
        (0..=9).contains(&level).then_some(Self).ok_or_else(|| "levels go from 0 to 9".to_owned())
    }
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only errors are looked at")]
struct Configuration {
    size: u8,
    location: Option<Location>,
    #[serde(default)]
    filters: Vec<Filter>,
}

fn error(format: Format, configuration: &str) -> String {
    let configuration =
        zarr_json::parse(configuration.as_bytes(), &zarr_json::ParseOptions::default()).unwrap();
    let registry = Registry::empty();
    let reading = Reading::new(Mode::Strict);
    let creation = Creation::new("x", &configuration.value, format, &registry, &reading);
    creation.parse::<Configuration>().unwrap_err().to_string()
}

#[test]
fn errors_name_the_member_the_value_and_the_expectation() {
    let v3 = |configuration: &str| error(Format::V3, configuration);
    assert_eq!(v3("{}"), "`configuration.size` is missing; expected an integer from 0 to 255");
    for wrong in ["256", "-1", "1.0", "\"1\"", "null", "[]", "{}"] {
        let message = format!("`configuration.size` is {wrong}, not an integer from 0 to 255");
        assert_eq!(v3(&format!("{{\"size\": {wrong}}}")), message);
    }
    assert_eq!(
        v3(r#"{"size": 1, "location": "middle"}"#),
        r#"`configuration.location` is "middle", not one of "start", "end", null"#
    );
    assert_eq!(
        v3(r#"{"size": 1, "location": 7}"#),
        r#"`configuration.location` is 7, not one of "start", "end", null"#
    );
    assert_eq!(v3(r#"{"size": 1, "filters": {}}"#), "`configuration.filters` is {}, not an array");
    assert_eq!(
        v3(r#"{"size": 1, "filters": [{"level": 3}, 4]}"#),
        "`configuration.filters[1]` is 4, not an object"
    );
    assert_eq!(
        v3(r#"{"size": 1, "filters": [{"level": 3}, {}]}"#),
        "`configuration.filters[1].level` is missing; expected an integer from 0 to 9"
    );
    assert_eq!(
        v3(r#"{"size": 1, "filters": [{"level": 3}, {"level": "x"}]}"#),
        "`configuration.filters[1].level` is \"x\", not an integer from 0 to 9"
    );
    assert_eq!(
        v3(r#"{"size": 1, "filters": [{"level": 10}]}"#),
        "`configuration.filters[0].level` is 10: levels go from 0 to 9"
    );
    assert_eq!(
        v3(r#"{"size": 1, "filters": [{"level": 1, "more": 2}]}"#),
        "unknown member `configuration.filters[0].more` (expected level)"
    );
    assert_eq!(
        v3(r#"{"size": 1, "more": 2}"#),
        "unknown member `more`; expected one of size, location, filters"
    );
    assert_eq!(v3("7"), "`configuration` is a number; expected an object");
}

#[test]
fn long_values_are_shortened_and_v2_paths_omit_configuration() {
    let long = format!("{{\"size\": \"{}\"}}", "é".repeat(100));
    let cut = format!("`size` is \"{}…, not an integer from 0 to 255", "é".repeat(59));
    assert_eq!(error(Format::V2, &long), cut);
    assert_eq!(error(Format::V2, "{}"), "`size` is missing; expected an integer from 0 to 255");
}
