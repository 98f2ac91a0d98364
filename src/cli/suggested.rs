//! The values that completions offer for options that take others, too: data types, codecs, codes of rules.

use clap::Command;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::codec::registry;
use crate::data_type::{DataType, registered_types};
use crate::diagnostic::code;
use crate::element::NumberType;

/// The command as completions see it: what it parses, and what its help says, must not go by these values.
pub(super) fn with_values(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        let command = subcommand.get_name().to_owned();
        subcommand.mut_args(|argument| match values(&command, argument.get_id().as_str()) {
            Some(values) => argument.value_parser(PossibleValuesParser::new(values)),
            None => argument,
        })
    })
}

/// Values for an argument of a command, by its name in the program; `None` if nothing is added.
fn values(command: &str, argument: &str) -> Option<Vec<PossibleValue>> {
    let words = |words: &[&'static str]| words.iter().map(PossibleValue::new).collect();
    Some(match (command, argument) {
        (_, "data_type") => types(|data_type| data_type.size().is_some()),
        (_, "quantize" | "suggest") => {
            types(|data_type| data_type.number().is_some_and(|number: NumberType| !number.is_float()))
        }
        (_, "compress") => codecs(&["none"]),
        (_, "codecs") => codecs(&["bytes"]),
        (_, "shard_shape") | ("inspect", "missing") => words(&["auto", "none"]),
        (_, "chunk_shape" | "partition" | "missing") => words(&["auto"]),
        (_, "missing_status") => words(&["403"]),
        (_, "allow" | "explain") => codes(),
        (_, "deny") => [PossibleValue::new("warnings")].into_iter().chain(codes()).collect(),
        _ => return None,
    })
}

/// The data types with a name of their own that an option takes.
fn types(is_taken: impl Fn(&DataType) -> bool) -> Vec<PossibleValue> {
    let taken =
        registered_types().filter(|name| DataType::from_name(name).is_some_and(|known| is_taken(&known)));
    taken.map(PossibleValue::new).collect()
}

/// The first part of each word of `--compress`, and other words.
fn codecs(others: &[&'static str]) -> Vec<PossibleValue> {
    let words = registry::shorthands().map(|(name, _)| name);
    words.chain(others.iter().copied()).map(PossibleValue::new).collect()
}

/// The codes of the rules, with their names beside them where the shell shows such.
fn codes() -> Vec<PossibleValue> {
    code::ALL.iter().map(|code| PossibleValue::new(code.code).help(code.name)).collect()
}
