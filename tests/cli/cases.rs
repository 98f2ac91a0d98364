//! Cases in text files: typed commands and their expected results. `cases/README.md` describes the format.

mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::support::{CliTest, Run, fixture, side_by_side};
use values::{all_parts, at_pointer, compare, encode, unescaped};

macro_rules! cases {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run_file(stringify!($name));
        })*

        #[test]
        fn every_file_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cases");
            let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let texts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
            let mut names: Vec<String> =
                texts.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

cases! {
    against apply_codec auto_shape bad_input cast_value cf_values codecs configurations consolidated constant damaged_bool data_types documents encoded_anew
    estimate exit_status fill_values foreign forms generators hierarchy inspect inspect_chunk inspect_group inspect_preview
    inspect_values keep_bits locations numcodecs option_values parts predict quality quantise rechunk rectilinear
    references report resume scale_offset select shard_shape small_floats suggest transcode transcode_options unread
    validate validate_levels verdicts version_2 version_2_and_3 version_2_codecs version_2_types zip
}

/// A line of a file with its continuation lines.
struct Line {
    number: usize,
    text: String,
}

/// A fault, or `Ok`.
type Outcome = Result<(), String>;

fn run_file(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/cases/{name}.txt"));
    let lines = lines(&fs::read_to_string(&path).unwrap());
    let begins: Vec<usize> = (0..lines.len()).filter(|index| lines[*index].text.starts_with("== ")).collect();
    let asked = std::env::var("CASE").unwrap_or_default();
    let faults = side_by_side(2, begins.iter().enumerate(), |(place, begin)| {
        let case = &lines[begin + 1..begins.get(place + 1).copied().unwrap_or(lines.len())];
        let title = &lines[*begin].text[3..];
        if !title.contains(&asked) {
            return None;
        }
        let mut script = Script::new();
        let outcome = script.lines(&lines[..begins[0]]).and_then(|()| script.lines(case));
        outcome.err().map(|fault| format!("{title} ({name}.txt:{fault}"))
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(!begins.is_empty() && faults.is_empty(), "\n{}", faults.join("\n\n"));
}

fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(output) = line.strip_prefix('>') {
            let output = output.strip_prefix(' ').unwrap_or(output);
            match lines.last_mut().filter(|last| last.text.starts_with('>')) {
                Some(last) => last.text = format!("{}\n{output}", last.text),
                None => lines.push(Line { number: index + 1, text: format!("> {output}") }),
            }
            continue;
        }
        let (part, is_cut) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        match lines.last_mut() {
            Some(last) if goes_on || line.starts_with("| ") => last.text = format!("{} {part}", last.text),
            _ if line.is_empty() || line == "#" || line.starts_with("# ") => continue,
            _ => lines.push(Line { number: index + 1, text: part.to_owned() }),
        }
        goes_on = is_cut;
    }
    lines
}

/// A running case.
struct Script<'a> {
    test: CliTest,
    variables: BTreeMap<String, String>,
    blocks: BTreeMap<&'a str, &'a [Line]>,
    /// The last command.
    run: Option<Run>,
}

impl<'a> Script<'a> {
    fn new() -> Self {
        let test = CliTest::new();
        let [fixtures, folder] = [fixture(""), test.path("")].map(|path| path.to_str().unwrap().to_owned());
        let variables = BTreeMap::from([
            ("fixtures".to_owned(), fixtures.trim_end_matches('/').to_owned()),
            ("folder".to_owned(), folder.trim_end_matches('/').to_owned()),
        ]);
        Script { test, variables, blocks: BTreeMap::new(), run: None }
    }

    fn lines(&mut self, lines: &'a [Line]) -> Outcome {
        let mut rest = lines;
        while let Some((line, following)) = rest.split_first() {
            rest = following;
            let at = |fault: String| format!("{}) {}\n    {fault}", line.number, line.text);
            if let Some(header) = line.text.strip_prefix("for ") {
                let body;
                (body, rest) = block(following);
                self.each(header, body)?;
            } else if let Some(name) = line.text.strip_prefix("def ") {
                let body;
                (body, rest) = block(following);
                self.blocks.insert(name, body);
            } else if let Some(name) = line.text.strip_prefix("use ") {
                let body = *self.blocks.get(name).ok_or_else(|| at("no such block".to_owned()))?;
                self.lines(body)?;
            } else {
                let next = following.first().map_or("", |line| line.text.as_str());
                let is_judged = next.starts_with("exit ") || next.starts_with("fails ");
                self.line(&self.filled(&line.text), is_judged).map_err(at)?;
            }
        }
        Ok(())
    }

    fn each(&mut self, header: &str, body: &'a [Line]) -> Outcome {
        let (names, rows, between) = match header.split_once(" of ") {
            Some((name, words)) if !name.contains(' ') => (name, words, " "),
            _ => header.split_once(" in ").map(|(names, rows)| (names, rows, " | ")).unwrap(),
        };
        let separator = if names.contains(';') { "; " } else { ", " };
        let names: Vec<&str> = names.split(separator).collect();
        let rows = self.filled(rows);
        for row in rows.trim_start_matches("| ").split(between) {
            let values: Vec<&str> = row.trim().splitn(names.len(), separator).collect();
            assert_eq!(names.len(), values.len(), "for {header}");
            let values = values.into_iter().map(|value| if value == "''" { "" } else { value });
            self.variables.extend(names.iter().map(|name| (*name).to_owned()).zip(values.map(str::to_owned)));
            self.lines(body).map_err(|fault| format!("{fault}\n    where {} is {row}", names.join(", ")))?;
        }
        Ok(())
    }

    /// Replaces the variables in a text.
    fn filled(&self, text: &str) -> String {
        self.variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// Runs a line. `is_judged` is true for a command if the next line checks its status.
    fn line(&mut self, line: &str, is_judged: bool) -> Outcome {
        let quoted = line.strip_prefix('\'').and_then(|line| line.split_once("' "));
        let (word, rest) = quoted.or_else(|| line.split_once(' ')).unwrap_or((line, ""));
        match word {
            "$" => return self.command(rest, is_judged),
            "let" => return self.assign(rest),
            "exit" | "fails" => return self.ended(word, rest),
            "no" => {
                let (stream, part) = rest.split_once(' ').unwrap();
                let (found, part) = (self.stream(stream)?, unescaped(part));
                return if found.contains(&*String::from_utf8_lossy(&part)) { Err(found) } else { Ok(()) };
            }
            "once" => {
                let (stream, part) = rest.split_once(' ').unwrap();
                let found = self.stream(stream)?;
                let is_once = found.matches(part).count() == 1;
                return if is_once { Ok(()) } else { Err(format!("{part} is not once in:\n{found}")) };
            }
            ">" => {
                let found = self.stream("stdout")?;
                return if found == format!("{rest}\n") { Ok(()) } else { Err(found) };
            }
            "stdout" | "stderr" => return all_parts(&self.stream(word)?, rest),
            _ if word.starts_with('/') => return compare(&at_pointer(&self.json()?, word)?, rest),
            _ => {}
        }
        if !self.make(word, rest) {
            return self.look(word, rest);
        }
        Ok(())
    }

    fn run(&self) -> Result<&Run, String> {
        self.run.as_ref().ok_or_else(|| "there was no command".to_owned())
    }

    fn stream(&self, name: &str) -> Result<String, String> {
        let run = self.run()?;
        Ok(if name == "stdout" { run.text() } else { &run.error }.to_owned())
    }

    fn json(&self) -> Result<Value, String> {
        let run = self.run()?;
        serde_json::from_slice(&run.output).map_err(|error| format!("{error}: {}{}", run.text(), run.error))
    }

    fn command(&mut self, line: &str, is_judged: bool) -> Outcome {
        let mut words = shlex::split(line).ok_or("a quote is open")?;
        let program = words.iter().position(|word| word == "zarrcast").ok_or("it runs no zarrcast")?;
        let mut file_after = |sign: &str| {
            let place = words.iter().position(|word| word == sign)?;
            words.drain(place..place + 2).nth(1)
        };
        let (output, input) = (file_after(">"), file_after("<"));
        let input = input.map(|name| self.test.read(&name)).unwrap_or_default();
        let (variables, arguments) = words.split_at(program);
        let variables: Vec<(&str, &str)> = variables.iter().filter_map(|word| word.split_once('=')).collect();
        let run = self.test.run_in(&arguments[1..], &input, &variables);
        if run.error.contains("panicked") || !is_judged && (run.status != 0 || !run.error.is_empty()) {
            return Err(said(&run));
        }
        output.map(|name| self.test.write(&name, &run.output));
        self.run = Some(run);
        Ok(())
    }

    fn ended(&self, word: &str, rest: &str) -> Outcome {
        let run = self.run()?;
        let (status, parts) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_error = run.output.is_empty() && run.error.starts_with("error: ");
        if status != "*" && run.status.to_string() != status || word == "fails" && !is_error {
            return Err(said(run));
        }
        all_parts(&run.error, parts)
    }

    fn assign(&mut self, line: &str) -> Outcome {
        let (name, value) = line.split_once(" = ").ok_or("`let` has no value")?;
        let value = if let Some(pointer) = value.strip_prefix("at ") {
            let found = at_pointer(&self.json()?, pointer)?;
            found.as_str().map_or_else(|| found.to_string(), str::to_owned)
        } else if let Some(before) = value.strip_prefix("word after ") {
            let said = self.stream("stdout")? + &self.stream("stderr")?;
            let (_, behind) = said.rsplit_once(before).ok_or(said.clone())?;
            behind.trim_start().split([' ', '`', '\n', ';']).next().unwrap().to_owned()
        } else if let Some(file) = value.strip_prefix("file ") {
            String::from_utf8_lossy(&self.test.read(file)).into_owned()
        } else if value == "stdout" {
            self.stream("stdout")?
        } else {
            value.replace("''", "")
        };
        self.variables.insert(name.to_owned(), value);
        Ok(())
    }

    /// Writes a file or a folder. Returns false for any other line.
    fn make(&self, word: &str, rest: &str) -> bool {
        let json = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let (first, second) = rest.split_once(' ').unwrap_or((rest, "{}"));
        match word {
            "array" => drop(self.test.array(first, json(second))),
            "v2" => drop(self.test.array_v2(first, json(second))),
            "group" => {
                let group = json!({"zarr_format": 3, "node_type": "group", "attributes": json(second)});
                self.test.write(&format!("{first}/zarr.json"), group.to_string());
            }
            "clone" => {
                for (name, bytes) in self.test.all_files(first) {
                    self.test.write(&format!("{second}/{name}"), bytes);
                }
            }
            "mkdir" => fs::create_dir_all(self.test.path(rest)).unwrap(),
            "rm" => {
                for path in rest.split(' ').map(|name| self.test.path(name)) {
                    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                }
            }
            #[cfg(unix)]
            "link" => {
                self.test.write(&format!("{first}.beside"), "");
                fs::remove_file(self.test.path(&format!("{first}.beside"))).unwrap();
                std::os::unix::fs::symlink(second, self.test.path(first)).unwrap();
            }
            "hardlink" => fs::hard_link(self.test.path(second), self.test.path(first)).unwrap(),
            "edit" => {
                let words = shlex::split(second).unwrap();
                let text = String::from_utf8(self.test.read(first)).unwrap();
                assert!(text.contains(&words[0]), "{} is not in {text}", words[0]);
                self.test.write(first, text.replace(&words[0], &words[1]));
            }
            "patch" => {
                let (offset, content) = second.split_once(' ').unwrap();
                let (mut bytes, patch) = (self.test.read(first), self.bytes(content));
                let offset = offset.strip_prefix('-').map_or_else(
                    || offset.parse().unwrap(),
                    |from_end| bytes.len() - from_end.parse::<usize>().unwrap(),
                );
                bytes[offset..offset + patch.len()].copy_from_slice(&patch);
                self.test.write(first, bytes);
            }
            _ if first == "=" => self.write(word, second),
            _ => return false,
        }
        true
    }

    fn write(&self, name: &str, content: &str) {
        let Some(folder) = name.strip_suffix("/*") else {
            self.test.write(name, self.bytes(content));
            return;
        };
        let (data_type, chunks) = content.split_once(' ').unwrap();
        for (index, chunk) in chunks.split(" | ").enumerate().filter(|(_, chunk)| chunk.trim() != "-") {
            self.test.write(&format!("{folder}/{index}"), self.bytes(&format!("{data_type} {chunk}")));
        }
    }

    fn bytes(&self, content: &str) -> Vec<u8> {
        let (kind, rest) = content.split_once(' ').unwrap_or((content, ""));
        match kind {
            "text" => unescaped(rest),
            "json" => serde_json::from_str::<Value>(rest).unwrap().to_string().into_bytes(),
            "bytes" => {
                let (name, ends) = rest.split_once(' ').unwrap_or((rest, ""));
                let path = Path::new(name);
                let mut bytes =
                    fs::read(self.test.path("").join(path)).unwrap_or_else(|error| panic!("{name}: {error}"));
                let cut = ends.trim_start_matches('-').parse::<usize>().unwrap_or(0);
                bytes.truncate(bytes.len() - cut);
                bytes
            }
            data_type => encode(data_type, rest),
        }
    }

    /// Checks files and folders.
    fn look(&self, word: &str, rest: &str) -> Outcome {
        let all = |is_right: &dyn Fn(&str) -> bool| {
            rest.split(' ').find(|name| !is_right(name)).map_or(Ok(()), |name| Err(name.to_owned()))
        };
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "exists" => return all(&|name| self.test.exists(name)),
            "absent" => return all(&|name| fs::symlink_metadata(self.test.path(name)).is_err()),
            "names" => {
                let names = self.test.names().join(" ");
                return if names == rest { Ok(()) } else { Err(names) };
            }
            "same" | "differ" => {
                let [a, b] = [first, second].map(|name| self.all_files(name));
                let is_same = a == b && !a.is_empty();
                return if is_same == (word == "same") {
                    Ok(())
                } else {
                    Err(format!("{:?} {:?}", a.keys(), b.keys()))
                };
            }
            _ => {}
        }
        let folder = self.test.path(word);
        let document = ["zarr.json", ".zarray"].into_iter().find(|name| folder.join(name).is_file());
        let path = document.filter(|_| first.starts_with('/')).map_or(folder.clone(), |name| folder.join(name));
        let found = fs::read(&path).map_err(|error| format!("{word}: {error}"))?;
        let text = || String::from_utf8_lossy(&found).into_owned();
        if first.starts_with('/') {
            let json: Value = serde_json::from_slice(&found).map_err(|error| format!("{error}: {}", text()))?;
            return compare(&at_pointer(&json, first)?, second);
        }
        match first {
            "==" if found == self.bytes(second) => Ok(()),
            "!=" if found != self.bytes(second) => Ok(()),
            "has" => all_parts(&text(), second),
            "size" if found.len().to_string() == second => Ok(()),
            "lacks" if !text().contains(second) => Ok(()),
            "==" | "!=" | "lacks" | "size" => Err(format!("{found:?} {}", text())),
            _ => Err("this is no line of a case".to_owned()),
        }
    }

    /// Returns a file, or all files below a folder.
    fn all_files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        if self.test.path(name).is_dir() {
            self.test.all_files(name)
        } else {
            BTreeMap::from([(String::new(), self.test.read(name))])
        }
    }
}

/// Returns the exit status and the beginning of the output of a command.
fn said(run: &Run) -> String {
    let output: String = String::from_utf8_lossy(&run.output).chars().take(2000).collect();
    format!("exit {}: {}{output}", run.status, run.error)
}

/// Returns the lines of a block and the lines after its end.
fn block(lines: &[Line]) -> (&[Line], &[Line]) {
    let mut depth = 1;
    let end = lines.iter().position(|line| {
        depth += usize::from(line.text.starts_with("for ") || line.text.starts_with("def "));
        depth -= usize::from(line.text == "end");
        depth == 0
    });
    let end = end.unwrap_or_else(|| panic!("a block has no end: line {}", lines[0].number));
    (&lines[..end], &lines[end + 1..])
}
