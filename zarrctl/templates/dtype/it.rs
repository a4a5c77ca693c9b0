//! `{{name}}`: known fill values, and invalid ones.

use zarr_spec::data_type::{DataTypeDocument, FillContext};
use zarr_spec::{ByteOrder, Format, Mode, Reading, Registry, Value};
use {{crate}} as _;

#[test]
fn fill_values_are_numbers_from_0_to_4095() {
    let registry = Registry::linked().unwrap();
    let reading = Reading::new(Mode::Strict);
    let document = DataTypeDocument::named("{{name}}");
    let (data_type, _) = registry.data_type(Format::V3, &document, &reading).unwrap();
    let context = FillContext::new(Format::V3, &reading);
    for number in [0_u16, 1, 4095] {
        let json = Value::from(u64::from(number));
        let fill = data_type.fill_value(&json, &context).unwrap();
        assert_eq!(fill.bytes(), number.to_ne_bytes());
        assert_eq!(data_type.fill_value_json(fill.bytes(), Format::V3, &ByteOrder::Little).unwrap(), json);
    }
    for wrong in [Value::from(4096_u64), Value::from("1"), Value::Null] {
        assert!(data_type.fill_value(&wrong, &context).is_err(), "{wrong}");
    }
    assert!(data_type.check(&4096_u16.to_ne_bytes()).is_err());
}
