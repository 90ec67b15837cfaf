//! Files in which one value is another one, or is missing, are read as a sound pipeline or refused with a place and a reason.

use serde_json::{Value, json};

use crate::json;

/// How many values there are in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Changes value number `at`, counted from the outermost one on.
fn change(value: &mut Value, at: &mut usize, f: &mut dyn FnMut(&mut Value)) {
    if *at == 0 {
        f(value);
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(list) => list.iter_mut().for_each(|inner| change(inner, at, f)),
        Value::Object(map) => map.values_mut().for_each(|inner| change(inner, at, f)),
        _ => {}
    }
}

#[test]
fn files_with_a_wrong_value_are_refused_or_read_as_a_sound_pipeline() {
    let others = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(4_000_000_000u64),
        json!(true),
        json!(""),
        json!("0x"),
        json!("0x03"),
        json!("-0x81"),
        json!("ethernet"),
        json!("expression"),
        json!("*"),
        json!([]),
        json!({}),
        json!(["h", "x"]),
        json!({ "op": "?", "left": null, "right": { "type": "hexstr", "value": "0x1" } }),
    ];
    let (mut read, mut refused) = (0, 0);
    for name in ["exact", "graph", "router", "stack"] {
        let whole = json(name);
        for at in 0..count(&whole) {
            let mut changed = whole.clone();
            let other = &others[at % others.len()];
            change(&mut changed, &mut { at }, &mut |value| *value = other.clone());
            match hopwright_bmv2::read(&changed.to_string(), name, at % 2 == 0) {
                Ok(_) => read += 1,
                Err(error) => {
                    refused += 1;
                    assert!(!error.path.is_empty(), "{name} {at} {other}: {error}");
                    let sound = !error.message.contains("makes no sound pipeline");
                    assert!(sound, "{name}, value {at} as {other}: {error}");
                }
            }
        }
    }
    assert!(read > 200 && refused > 1000, "{read} {refused}");
}
