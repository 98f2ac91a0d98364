//! `apply-codec` as text: a row for each codec, and what a round trip found.

use std::io::{self, Write};

use super::quantity;
use super::table::Table;
use super::terminal::{Role, Style};
use crate::operation::apply_codec_result::{ApplyCodecResult, RoundTrip};

/// Writes what there is to tell; nothing for a plain run, which is a filter. The rows of a `--repeat` are part of
/// the result unless they stand on stderr already.
pub fn write(result: &ApplyCodecResult, with_stages: bool, style: Style, output: &mut dyn Write) -> io::Result<()> {
    if with_stages && result.repeat.is_some() {
        write_stages(result, style, output)?;
    }
    match &result.round_trip {
        Some(round_trip) => write_round_trip(round_trip, style, output),
        None => Ok(()),
    }
}

/// A row for each codec.
pub fn write_stages(result: &ApplyCodecResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    let times = result.repeat.map_or_else(String::new, |repeat| format!(", medians of {repeat}"));
    writeln!(output, "{}", style.paint(Role::Heading, &format!("{}{times}", result.direction)))?;
    let columns = ["codec", "data type", "shape", "fill value", ">bytes", ">time", ">rate"];
    let mut table = Table::new(&columns);
    for stage in &result.stages {
        table.push(
            vec![
                stage.codec.clone().unwrap_or_else(|| "(input)".to_owned()),
                stage.data_type.as_ref().map_or_else(String::new, quantity::json),
                stage.shape.as_deref().map_or_else(String::new, quantity::shape),
                stage.fill_value.as_ref().map_or_else(String::new, quantity::json),
                quantity::count(stage.bytes),
                stage.seconds.map_or_else(String::new, quantity::seconds),
                stage.bytes_per_second.map_or_else(String::new, quantity::rate),
            ],
            None,
        );
    }
    table.write(style, output)
}

fn write_round_trip(round_trip: &RoundTrip, style: Style, output: &mut dyn Write) -> io::Result<()> {
    if round_trip.bit_identical {
        return writeln!(output, "round trip: {}", style.paint(Role::Good, "bit-identical"));
    }
    let differs = if round_trip.differing == 1 { "differs" } else { "differ" };
    let differing = format!("{} {differs}", quantity::counted(round_trip.differing, "element"));
    write!(output, "round trip: {}", style.paint(Role::Warning, &differing))?;
    if let Some(error) = round_trip.max_abs_error {
        write!(output, ", by at most {}", quantity::figure(error))?;
    }
    if let Some(at) = &round_trip.at {
        write!(output, ", at [{}]", quantity::shape(at))?;
    }
    writeln!(output)
}
