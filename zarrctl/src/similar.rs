//! Suggestions for misspelt names.

use strsim::damerau_levenshtein;

/// Returns the name that is most similar to `given`, if it differs by few characters. Ignores case.
pub(crate) fn similar<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let given = given.to_lowercase();
    let most = (given.chars().count() / 3).clamp(1, 3);
    let distances = names.into_iter().map(|name| (damerau_levenshtein(&given, &name.to_lowercase()), name));
    let (_, name) =
        distances.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance)?;
    Some(name)
}

/// Returns this framework's name of a data type that NumPy, C or another library calls `name`.
pub(crate) fn data_type(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    if let Some(unit) = name.strip_prefix("datetime64").or_else(|| name.strip_prefix("timedelta64")) {
        let kind = if name.starts_with('d') { "datetime64" } else { "timedelta64" };
        return Some(format!("numpy.{kind}{}", if unit.is_empty() { "[s]" } else { unit }));
    }
    let found = match name.as_str() {
        "half" => "float16",
        "single" => "float32",
        "double" | "float" => "float64",
        "byte" => "int8",
        "ubyte" => "uint8",
        "short" => "int16",
        "ushort" => "uint16",
        "int" | "long" | "integer" => "int64",
        "uint" | "ulong" => "uint64",
        "complex" => "complex128",
        "boolean" => "bool",
        "str" | "text" | "utf8" | "unicode" => "string",
        _ => return None,
    };
    Some(found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_few_other_characters_is_similar() {
        let names = ["/image/mandelbrot", "/image/mask", "/words"];
        assert_eq!(similar("/image/mandelbrod", names), Some("/image/mandelbrot"));
        assert_eq!(similar("/Words", names), Some("/words"));
        assert_eq!(similar("/wrods", names), Some("/words"));
        assert_eq!(similar("/other", names), None);
    }

    #[test]
    fn data_types_of_other_libraries_are_translated() {
        assert_eq!(data_type("double").as_deref(), Some("float64"));
        assert_eq!(data_type("datetime64[ns]").as_deref(), Some("numpy.datetime64[ns]"));
        assert_eq!(data_type("uint16"), None);
    }
}
