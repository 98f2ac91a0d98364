//! The cost of a chunk in arrays of a thousand to a million chunks of 1 KiB: copied, compressed again, and listed. The
//! cost and the memory should be the same for all of them.
//!
//! `cargo bench --bench chunks -- [CHUNKS]...`: other counts than 1000, 10000 and 100000. The files are in memory where
//! such a folder exists. A chunk needs 4 KiB there and its entry 1 KiB, in SOURCE and in DEST. So a million need 10 GB.
//! Each run is a separate process and prints its processor time and maximum memory.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use zarrcast::operation::Interrupt;
use zarrcast::operation::options::compression;
use zarrcast::operation::options::{Compression, TranscodeOptions};
use zarrcast::operation::progress::Silent;
use zarrcast::operation::transcode::transcode;

/// The size of a chunk in bytes.
const CHUNK: u64 = 1024;

/// The number of runs. The fastest counts.
const RUNS: u32 = 3;

const WAYS: [&str; 2] = ["copy", "recode"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [way, source, destination] = arguments.as_slice()
        && WAYS.contains(&way.as_str())
    {
        return run(way, source.as_ref(), destination.as_ref());
    }
    let counts: Vec<u64> = arguments.iter().map(|count| count.parse().unwrap()).collect();
    let counts = if counts.is_empty() { vec![1000, 10_000, 100_000] } else { counts };
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    println!("{:>9}  {:>9}  {:>6}  {:>10}  {:>12}  {:>8}", "chunks", "separator", "way", "us a chunk", "CPU us", "MiB");
    for count in counts {
        for separator in ['/', '.'] {
            let source = folder.path().join("source");
            write_array(&source, count, separator);
            for way in WAYS {
                let [wall, processor, memory] = measure(way, &source, &folder.path().join("destination"));
                let of_a_chunk = |seconds: f64| seconds * 1e6 / u32::try_from(count).map_or(f64::NAN, f64::from);
                let (wall, processor) = (of_a_chunk(wall), of_a_chunk(processor));
                println!("{count:>9}  {separator:>9}  {way:>6}  {wall:>10.2}  {processor:>12.2}  {memory:>8.0}");
            }
            fs::remove_dir_all(&source).unwrap();
        }
    }
}

/// Writes a uint8 array with chunks along three dimensions.
fn write_array(root: &Path, count: u64, separator: char) {
    let [rows, columns] = [10, 100];
    assert!(count.is_multiple_of(rows * columns), "{count} is no multiple of {}", rows * columns);
    let planes = count / (rows * columns);
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{planes},{rows},{}],"data_type":"uint8","chunk_grid":
        {{"name":"regular","configuration":{{"chunk_shape":[1,1,{CHUNK}]}}}},"chunk_key_encoding":{{"name":"default",
        "configuration":{{"separator":"{separator}"}}}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#,
        columns * CHUNK
    );
    fs::create_dir(root).unwrap();
    fs::write(root.join("zarr.json"), document).unwrap();
    let bytes: Vec<u8> = (0..CHUNK).map(|index| u8::try_from(index / 16 % 256).unwrap()).collect();
    for (plane, row) in (0..planes).flat_map(|plane| (0..rows).map(move |row| (plane, row))) {
        if separator == '/' {
            fs::create_dir_all(root.join(format!("c/{plane}/{row}"))).unwrap();
        }
        for column in 0..columns {
            let key = format!("c{separator}{plane}{separator}{row}{separator}{column}");
            fs::write(root.join(key), &bytes).unwrap();
        }
    }
}

/// Returns seconds, processor seconds, and MiB of the run with the least processor time.
fn measure(way: &str, source: &Path, destination: &Path) -> [f64; 3] {
    let mut best = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let run = Command::new(std::env::current_exe().unwrap())
            .args([way.as_ref(), source, destination])
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(run.status.success());
        let said = String::from_utf8(run.stdout).unwrap();
        let figures: Vec<f64> = said.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
        if figures[1] < best[1] {
            best = figures.try_into().unwrap();
        }
        fs::remove_dir_all(destination).unwrap();
    }
    best
}

/// Runs in a separate process and prints its time and memory.
fn run(way: &str, source: &Path, destination: &Path) {
    let compress = (way == "recode").then(|| Compression::Codecs(compression("zstd:1").unwrap()));
    let mut options = TranscodeOptions::new(source.into(), destination.into());
    options.change.compress = compress;
    let begun = std::time::Instant::now();
    transcode(&options, &Silent, &Interrupt::default()).unwrap();
    let wall = begun.elapsed().as_secs_f64();
    // SAFETY: all fields are plain numbers, so zero bits are valid, and the call only writes to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        usage
    };
    #[allow(clippy::cast_precision_loss, reason = "a run has few seconds and microseconds")]
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    #[allow(clippy::cast_precision_loss, reason = "the KiB of memory are few")]
    let memory = usage.ru_maxrss as f64 / 1024.0;
    println!("{wall} {} {memory}", seconds(usage.ru_utime) + seconds(usage.ru_stime));
}
