//! The conventions that attributes declare: CF, OME-Zarr, GeoZarr, NCZarr and AnnData.

use std::fmt;

use zarr_kit::json::counted;
use zarr_kit::spec::{Object, Value};
use zarr_kit::{Array, Group, Hierarchy, NodePath};

use crate::failure::Failure;

/// A convention, and what it declares about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Convention {
    name: String,
    version: Option<String>,
    detail: Option<String>,
}

impl Convention {
    fn new(name: &str, version: Option<&str>, detail: Option<String>) -> Self {
        Self { name: name.to_owned(), version: version.map(str::to_owned), detail }
    }

    pub(crate) fn to_json(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let mut members = Object::new();
        members.insert("name", self.name.as_str());
        members.insert("version", text(&self.version));
        members.insert("description", text(&self.detail));
        Value::Object(members)
    }
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|version| write!(f, " {version}"))?;
        self.detail.iter().try_for_each(|detail| write!(f, ": {detail}"))
    }
}

/// Returns the names and versions of the conventions that the attributes of a group itself declare.
pub(crate) fn names_of_group(group: &Group) -> Vec<String> {
    let own = group.attributes();
    let found = declared(own).into_iter().chain(of_attributes(own, &group.metadata().ignored));
    let name = |convention: Convention| Convention { detail: None, ..convention }.to_string();
    found.map(name).collect()
}

/// Returns the names of the conventions that an array declares without its groups: only those of GeoZarr, because arrays
/// with others are in groups that declare them.
pub(crate) fn names_of_array(array: &Array) -> Vec<String> {
    geozarr(array.attributes()).into_iter().map(|convention| convention.name).collect()
}

/// Returns the conventions of a group.
pub(crate) fn of_group(hierarchy: &Hierarchy, group: &Group) -> Result<Vec<Convention>, Failure> {
    let own = group.attributes();
    let mut found = declared(own);
    if found.is_empty() {
        found = inherited(hierarchy, group.path())?;
    }
    found.extend(of_attributes(own, &group.metadata().ignored));
    Ok(found)
}

/// Returns the conventions that are recognised by their attributes and members.
fn of_attributes(own: &Object, ignored: &Object) -> impl Iterator<Item = Convention> {
    [ome(own), geozarr(own), nczarr(own, ignored), anndata(own)].into_iter().flatten()
}

/// Returns the conventions of an array, and its place in the image of the group above it.
pub(crate) fn of_array(hierarchy: &Hierarchy, array: &Array) -> Result<Vec<Convention>, Failure> {
    let own = array.attributes();
    let mut found = declared(own);
    if found.is_empty() {
        found = inherited(hierarchy, array.path())?;
    }
    if let Some(parent) = array.path().parent()
        && let Some(attributes) = attributes(hierarchy, &parent)
    {
        found.extend(level(&attributes, array.path().name(), &parent));
    }
    found.extend(geozarr(own));
    found.extend(nczarr(own, &array.metadata().ignored));
    found.extend(anndata(own));
    Ok(found)
}

/// Returns the conventions of the nearest group above `path` that declares any.
fn inherited(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<Convention>, Failure> {
    let mut above = path.parent();
    while let Some(group) = above {
        let found = attributes(hierarchy, &group).map_or_else(Vec::new, |own| declared(&own));
        if !found.is_empty() {
            return Ok(found);
        }
        above = group.parent();
    }
    Ok(Vec::new())
}

/// Returns the attributes of a group; `None` if it cannot be read.
fn attributes(hierarchy: &Hierarchy, group: &NodePath) -> Option<Object> {
    hierarchy.group(group).ok().map(|group| group.attributes().clone())
}

/// Parses the attribute `Conventions`: names that commas or spaces separate, such as `CF-1.8, ACDD-1.3`.
fn declared(attributes: &Object) -> Vec<Convention> {
    let text = attributes.get("Conventions").and_then(Value::as_str).unwrap_or_default();
    let separator = if text.contains(',') { ',' } else { ' ' };
    let names = text.split(separator).map(str::trim).filter(|name| !name.is_empty());
    let convention = |name: &str| match name.rsplit_once(['-', '/']) {
        Some((name, version)) if version.starts_with(|first: char| first.is_ascii_digit()) => {
            Convention::new(name, Some(version), None)
        }
        _ => Convention::new(name, None, None),
    };
    names.map(convention).collect()
}

/// The metadata of OME-Zarr: the member `ome` since version 0.5, and the attributes themselves before.
struct Ome<'a> {
    members: &'a Object,
    version: Option<&'a str>,
}

impl<'a> Ome<'a> {
    fn of(attributes: &'a Object) -> Option<Self> {
        if let Some(members) = attributes.get("ome").and_then(Value::as_object) {
            return Some(Self { members, version: members.get("version").and_then(Value::as_str) });
        }
        let mut parts = ["plate", "well", "image-label"].into_iter().filter_map(|name| attributes.get(name));
        let part = first_image(attributes).or_else(|| parts.find_map(Value::as_object));
        let is_layout = attributes.contains("bioformats2raw.layout");
        match part {
            Some(part) => {
                Some(Self { members: attributes, version: part.get("version").and_then(Value::as_str) })
            }
            None => is_layout.then_some(Self { members: attributes, version: None }),
        }
    }
}

/// Returns the first image of `multiscales`, which is a list in OME-Zarr.
fn first_image(members: &Object) -> Option<&Object> {
    let image = members.get("multiscales")?.as_array()?.first()?.as_object()?;
    image.contains("datasets").then_some(image)
}

/// Returns the paths of the levels of an image.
fn levels(image: &Object) -> Vec<&str> {
    let datasets = image.get("datasets").and_then(Value::as_array).unwrap_or_default();
    datasets.iter().filter_map(|dataset| dataset.as_object()?.get("path")?.as_str()).collect()
}

/// Returns the names and units of the axes of an image: `z (micrometer), y, x`.
fn axes(image: &Object) -> Option<String> {
    let axes = image.get("axes")?.as_array()?;
    let axis = |axis: &Value| -> Option<String> {
        if let Some(name) = axis.as_str() {
            return Some(name.to_owned());
        }
        let members = axis.as_object()?;
        let name = members.get("name")?.as_str()?;
        let unit = members.get("unit").and_then(Value::as_str);
        Some(unit.map_or_else(|| name.to_owned(), |unit| format!("{name} ({unit})")))
    };
    Some(axes.iter().filter_map(axis).collect::<Vec<_>>().join(", "))
}

fn ome(attributes: &Object) -> Option<Convention> {
    let Ome { members, version } = Ome::of(attributes)?;
    let count = |value: Option<&Value>, name: &str| {
        value.and_then(Value::as_array).map_or(0, <[Value]>::len).to_string() + " " + name
    };
    let mut details = Vec::new();
    if let Some(image) = first_image(members) {
        let levels = levels(image);
        let axes = axes(image).map_or_else(String::new, |axes| format!(" with axes {axes}"));
        let number = counted(levels.len(), "level", "levels");
        details.push(format!("an image{axes}, {number}: {}", levels.join(", ")));
    }
    if members.contains("image-label") {
        details.push("labels of an image".to_owned());
    }
    if let Some(plate) = members.get("plate").and_then(Value::as_object) {
        let parts = [("rows", "rows"), ("columns", "columns"), ("wells", "wells")];
        let parts = parts.map(|(member, name)| count(plate.get(member), name));
        details.push(format!("a plate of {}", parts.join(", ")));
    }
    if let Some(well) = members.get("well").and_then(Value::as_object) {
        details.push(format!("a well with {}", count(well.get("images"), "images")));
    }
    if members.contains("labels") {
        details.push(count(members.get("labels"), "label images"));
    }
    if members.contains("bioformats2raw.layout") || members.contains("series") {
        details.push("a collection of images".to_owned());
    }
    Some(Convention::new("OME-Zarr", version, (!details.is_empty()).then(|| details.join("; "))))
}

/// Returns the place of the array `name` in the image that its group describes.
fn level(group: &Object, name: &str, path: &NodePath) -> Option<Convention> {
    let Ome { members, version } = Ome::of(group)?;
    let levels = levels(first_image(members)?);
    let number = levels.iter().position(|level| *level == name)?;
    let detail = format!("level {} of {} of the image {path}", number + 1, levels.len());
    Some(Convention::new("OME-Zarr", version, Some(detail)))
}

/// The registered conventions that GeoZarr consists of.
const GEOZARR: [&str; 3] = ["proj", "geo-proj", "spatial"];

/// The attributes of GeoZarr with the coordinate reference system or the position of pixels.
const REFERENCES: [&str; 4] = ["proj:code", "proj:wkt2", "proj:projjson", "spatial:transform"];

fn geozarr(attributes: &Object) -> Option<Convention> {
    let registered = attributes.get("zarr_conventions").and_then(Value::as_array).unwrap_or_default();
    let name = |entry: &Value| -> Option<String> {
        let name = entry.as_object()?.get("name")?.as_str()?;
        Some(name.trim_end_matches(':').to_owned())
    };
    let mut details: Vec<String> = registered.iter().filter_map(name).collect();
    let text = |name: &str| attributes.get(name).and_then(Value::as_str);
    let is_geozarr = details.iter().any(|name| GEOZARR.contains(&&**name))
        || REFERENCES.iter().any(|name| attributes.get(name).is_some_and(|value| !value.is_null()));
    if details.is_empty() && !is_geozarr {
        return None;
    }
    details.extend(text("proj:code").or_else(|| text("proj:wkt2").and_then(name_of_wkt)).map(str::to_owned));
    if let Some(dimensions) = attributes.get("spatial:dimensions").and_then(Value::as_array) {
        let names: Vec<&str> = dimensions.iter().filter_map(Value::as_str).collect();
        details.push(format!("dimensions {}", names.join(", ")));
    }
    details.extend(attributes.get("spatial:bbox").map(|bounds| format!("bounds {bounds}")));
    let name = if is_geozarr { "GeoZarr" } else { "Zarr conventions" };
    Some(Convention::new(name, None, Some(details.join(", "))))
}

/// Returns the name of a coordinate reference system in WKT: `WGS 84` in `GEOGCS["WGS 84",…]`.
fn name_of_wkt(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// Finds the members of netCDF-C's NCZarr, in attributes or in the document.
fn nczarr(attributes: &Object, ignored: &Object) -> Option<Convention> {
    let is_own = |name: &str| name.to_ascii_lowercase().starts_with("_nczarr");
    let members = || attributes.iter().chain(ignored.iter());
    if !members().any(|(name, _)| is_own(name)) {
        return None;
    }
    let superblock = members().find(|(name, _)| name.eq_ignore_ascii_case("_nczarr_superblock"));
    let version = superblock.and_then(|(_, value)| value.as_object()?.get("version")?.as_str());
    Some(Convention::new("NCZarr", version, None))
}

/// Finds the encoding of AnnData and MuData.
fn anndata(attributes: &Object) -> Option<Convention> {
    let encoding = attributes.get("encoding-type").and_then(Value::as_str)?;
    let version = attributes.get("encoding-version").and_then(Value::as_str);
    let mut detail = match encoding {
        "anndata" => "annotated data".to_owned(),
        "MuData" => return Some(Convention::new("MuData", version, None)),
        encoding => encoding.to_owned(),
    };
    if let Some(columns) = attributes.get("column-order").and_then(Value::as_array) {
        let names: Vec<&str> = columns.iter().filter_map(Value::as_str).collect();
        detail = match names.as_slice() {
            [] => detail,
            names => format!("{detail} with columns {}", names.join(", ")),
        };
    }
    Some(Convention::new("AnnData", version, Some(detail)))
}

#[cfg(test)]
mod tests {
    use zarr_kit::json::{ParseOptions, parse};

    use super::*;

    fn object(text: &str) -> Object {
        let parsed = parse(text.as_bytes(), &ParseOptions::default()).unwrap();
        parsed.value.as_object().unwrap().clone()
    }

    fn texts(found: impl IntoIterator<Item = Convention>) -> Vec<String> {
        found.into_iter().map(|convention| convention.to_string()).collect()
    }

    #[test]
    fn declared_conventions_are_separated() {
        let found = |text: &str| texts(declared(&object(&format!(r#"{{"Conventions":"{text}"}}"#))));
        assert_eq!(found("CF-1.8"), ["CF 1.8"]);
        assert_eq!(found("CF-1.6, ACDD-1.3"), ["CF 1.6", "ACDD 1.3"]);
        assert_eq!(found("CF-1.11 UGRID/1.0 own"), ["CF 1.11", "UGRID 1.0", "own"]);
        assert!(found("").is_empty() && declared(&object("{}")).is_empty());
    }

    #[test]
    fn images_of_both_versions_of_ome_zarr_are_described() {
        let image = r#"[{"version":"0.4","axes":[{"name":"c"},{"name":"y","unit":"micrometer"}],
            "datasets":[{"path":"0"},{"path":"1"}]}]"#;
        let expected = "an image with axes c, y (micrometer), 2 levels: 0, 1";
        let old = object(&format!(r#"{{"multiscales":{image},"omero":{{}}}}"#));
        assert_eq!(texts(ome(&old)), [format!("OME-Zarr 0.4: {expected}")]);
        let new = object(&format!(r#"{{"ome":{{"version":"0.5","multiscales":{image}}}}}"#));
        assert_eq!(texts(ome(&new)), [format!("OME-Zarr 0.5: {expected}")]);
        assert_eq!(texts(level(&new, "1", &NodePath::root())), ["OME-Zarr 0.5: level 2 of 2 of the image /"]);
        assert!(level(&new, "labels", &NodePath::root()).is_none());
        let plate = object(r#"{"plate":{"version":"0.4","rows":[1],"columns":[1,2],"wells":[1,2]}}"#);
        assert_eq!(texts(ome(&plate)), ["OME-Zarr 0.4: a plate of 1 rows, 2 columns, 2 wells"]);
        assert!(ome(&object(r#"{"multiscales":{"layout":[]}}"#)).is_none());
    }

    #[test]
    fn conventions_of_other_fields_are_found() {
        let geo = object(
            r#"{"zarr_conventions":[{"name":"proj:"},{"name":"spatial:"}],"proj:code":"EPSG:32633",
                "spatial:dimensions":["y","x"]}"#,
        );
        assert_eq!(texts(geozarr(&geo)), ["GeoZarr: proj, spatial, EPSG:32633, dimensions y, x"]);
        let wkt = object(r#"{"proj:wkt2":"PROJCRS[\"UTM 33N\",BASE]","proj:code":null}"#);
        assert_eq!(texts(geozarr(&wkt)), ["GeoZarr: UTM 33N"]);
        let none = Object::new();
        let group = object(r#"{"_nczarr_superblock":{"version":"2.0.0"}}"#);
        assert_eq!(texts(nczarr(&none, &group)), ["NCZarr 2.0.0"]);
        assert_eq!(texts(nczarr(&object(r#"{"_NCZARR_ATTR":{}}"#), &none)), ["NCZarr"]);
        let frame = r#"{"encoding-type":"dataframe","encoding-version":"0.2.0","column-order":["a","b"]}"#;
        assert_eq!(texts(anndata(&object(frame))), ["AnnData 0.2.0: dataframe with columns a, b"]);
        for found in [geozarr(&none), nczarr(&none, &none), anndata(&none), ome(&none)] {
            assert_eq!(found, None);
        }
    }

    #[test]
    fn members_of_unexpected_types_are_ignored() {
        for text in [
            r#"{"ome":{"multiscales":[{"datasets":3,"axes":"x"}],"plate":1,"well":{"images":{}}}}"#,
            r#"{"zarr_conventions":[1,{"name":2}],"proj:code":3,"spatial:dimensions":{}}"#,
            r#"{"encoding-type":"array","column-order":[1]}"#,
        ] {
            let attributes = object(text);
            let _found = (ome(&attributes), geozarr(&attributes), anndata(&attributes));
        }
    }
}
