//! Bytes and JSON in the syntax of cases.

use serde_json::Value;

use crate::support::vlen;

/// Fails unless a text contains all parts, which are separated by ` .. `.
pub(super) fn all_parts(text: &str, parts: &str) -> Result<(), String> {
    // The words of a message may be on two lines.
    match parts.split(" .. ").map(unescaped).find(|part| !text.contains(&*String::from_utf8_lossy(part))) {
        Some(part) => Err(format!("{:?} is not in:\n{text}", String::from_utf8_lossy(&part))),
        None => Ok(()),
    }
}

/// Replaces the escapes `\n`, `\r`, `\t`, `\e`, `\\` and `\xff`.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut letters) = (Vec::new(), text.chars());
    while let Some(letter) = letters.next() {
        let escaped = if letter == '\\' { letters.next() } else { None };
        match escaped {
            None => bytes.extend(letter.to_string().bytes()),
            Some('n') => bytes.push(b'\n'),
            Some('r') => bytes.push(b'\r'),
            Some('t') => bytes.push(b'\t'),
            Some('e') => bytes.push(0x1b),
            Some('x') => {
                let digits: String = letters.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            Some(other) => bytes.extend(other.to_string().bytes()),
        }
    }
    bytes
}

/// Returns the bytes of elements of a data type: `1 2.5*4 0..8`.
pub(super) fn encode(data_type: &str, values: &str) -> Vec<u8> {
    if data_type == "vlen" {
        return vlen(&shlex::split(values).unwrap());
    }
    let (data_type, is_big) = data_type.strip_suffix("be").map_or((data_type, false), |name| (name, true));
    let mut bytes = Vec::new();
    for word in values.split_whitespace() {
        let (value, count) = word.split_once('*').unwrap_or((word, "1"));
        let (first, end) = value.split_once("..").unwrap_or((value, ""));
        let range = end.parse().map(|end: i64| first.parse().unwrap()..end);
        let words =
            range.map_or_else(|_| vec![value.to_owned()], |range| range.map(|value| value.to_string()).collect());
        for _ in 0..count.parse().unwrap() {
            for word in &words {
                let mut element = element(data_type, word);
                if is_big {
                    element.reverse();
                }
                bytes.append(&mut element);
            }
        }
    }
    bytes
}

/// Returns an element, little endian.
fn element(data_type: &str, word: &str) -> Vec<u8> {
    macro_rules! parse {
        ($($name:literal => $type:ty,)*) => {
            match data_type {
                $($name => word.parse::<$type>().unwrap_or_else(|error| panic!("{word}: {error}")).to_le_bytes().to_vec(),)*
                "float16" => half::f16::from_f64(word.parse().unwrap()).to_le_bytes().to_vec(),
                "hex" => word.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect(),
                _ => panic!("cases have no {data_type}"),
            }
        };
    }
    parse! {
        "uint8" => u8, "uint16" => u16, "uint32" => u32, "uint64" => u64, "int8" => i8, "int16" => i16, "int32" => i32,
        "int64" => i64, "float32" => f32, "float64" => f64,
    }
}

/// Returns the value at a pointer. A missing value is null.
pub(super) fn at_pointer(json: &Value, pointer: &str) -> Result<Value, String> {
    let Some(pointer) = pointer.strip_prefix('/').filter(|rest| !rest.is_empty()) else {
        return Ok(json.clone());
    };
    let end = if pointer.starts_with('[') {
        pointer.find(']').map_or(pointer.len(), |end| end + 1)
    } else {
        pointer.find('/').unwrap_or(pointer.len())
    };
    let (segment, rest) = pointer.split_at(end);
    if let Some((name, value)) = segment.trim_matches(['[', ']']).split_once('=').filter(|_| segment.starts_with('[')) {
        let is_it = |item: &&Value| item[name] == *value;
        let item = json.as_array().and_then(|items| items.iter().find(is_it));
        return at_pointer(item.ok_or_else(|| format!("{segment} is not in {json:#}"))?, rest);
    }
    match (segment, json) {
        ("*", Value::Array(items)) => {
            items.iter().map(|item| at_pointer(item, rest)).collect::<Result<_, _>>().map(Value::Array)
        }
        ("*", Value::Object(items)) => {
            items.values().map(|item| at_pointer(item, rest)).collect::<Result<_, _>>().map(Value::Array)
        }
        ("#", Value::Array(items)) => Ok(items.len().into()),
        ("#", Value::Object(items)) => Ok(items.len().into()),
        ("-1", Value::Array(items)) => at_pointer(items.last().unwrap_or(&Value::Null), rest),
        (index, Value::Array(items)) => {
            let item = index.parse().ok().and_then(|index: usize| items.get(index));
            at_pointer(item.unwrap_or(&Value::Null), rest)
        }
        (name, json) => at_pointer(&json[name.replace("~1", "/")], rest),
    }
}

/// Compares by a relation: `== 1`, `has "part"`.
pub(super) fn compare(found: &Value, relation: &str) -> Result<(), String> {
    let (relation, expected) = relation.split_once(' ').ok_or("there is nothing to compare with")?;
    let expected: Value = serde_json::from_str(expected).map_err(|error| format!("{error}: {expected}"))?;
    let numbers = || Some((found.as_f64()?, expected.as_f64()?));
    let is_right = match relation {
        "==" => *found == expected,
        "!=" => *found != expected,
        "has" => has(found, &expected),
        "lacks" => !has(found, &expected),
        "<" => numbers().is_some_and(|(found, expected)| found < expected),
        "<=" => numbers().is_some_and(|(found, expected)| found <= expected),
        ">" => numbers().is_some_and(|(found, expected)| found > expected),
        ">=" => numbers().is_some_and(|(found, expected)| found >= expected),
        "~=" => numbers().is_some_and(|(found, expected)| (found - expected).abs() <= 1e-9 * expected.abs()),
        _ => return Err(format!("{relation} is no relation")),
    };
    if is_right { Ok(()) } else { Err(format!("it is {found:#}")) }
}

/// Checks whether a text contains this part, a list this element, or an object these members.
fn has(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(items), _) => {
            items.iter().any(|item| item == expected || item.is_object() && has(item, expected))
        }
        (Value::Object(_), Value::Object(members)) => members.iter().all(|(name, value)| {
            let own = &found[name];
            own == value || own.is_object() && has(own, value)
        }),
        _ => false,
    }
}
