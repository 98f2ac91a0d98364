//! Jobs whose objects are written by several runs, each with those that are assigned to it: together they make what one run
//! makes, in any order, and where each ends on the way and is run again.

use std::ops::Range;

use super::{Files, Kind, Scene, each_route, files, two_passes};
use crate::array::{ChunkCache, ChunkSet, Interrupt};
use crate::engine::journal::name_of_pass;
use crate::engine::listing::list;
use crate::engine::report::digest_of;
use crate::engine::route::staged::{FIRST_PASS, Intermediate};
use crate::engine::unfinished::remove_unfinished;
use crate::engine::{Assignment, Fingerprint, Journal, ObjectReport, Silent};
use crate::metadata::ArrayMetadata;
use crate::operation::transcode::destination::Output;
use crate::operation::transcode::planning::{PlannedArray, Planning};
use crate::operation::transcode::transcode;
use crate::operation::transcode::tree::Source;
use crate::operation::{Budget, TranscodeOptions, new_driver};
use crate::store::tests::faulty::{Failure, Faults};

/// A run of one of some passes.
struct Run<'a> {
    options: &'a TranscodeOptions,
    /// The pass; `None` is the first of two.
    between: Option<Intermediate>,
}

/// The figures of a run, and the output of its first pass.
type Done = (ObjectReport, Intermediate, ArrayMetadata);

impl Run<'_> {
    /// Plans the one array of SOURCE, and writes the objects that `share` of it and the number of objects are.
    fn write(&self, share: impl Fn(u64) -> Range<u64>, through: Option<&Faults>) -> Result<Done, String> {
        let said = |error: &dyn std::fmt::Debug| format!("{error:?}");
        let interrupt = Interrupt::default();
        let budget = Budget::of(&self.options.run.common);
        let driver = new_driver(2, &interrupt).map_err(|error| said(&error))?;
        let mut source = Source::open(self.options, &driver).map_err(|error| said(&error))?;
        let output = Output::find(&source.node, self.options).map_err(|error| said(&error))?;
        let (cache, arrays) = (ChunkCache::default(), std::mem::take(&mut source.arrays));
        let planning = Planning {
            budget,
            run: &self.options.run,
            driver: &driver,
            progress: &Silent,
            work: output.data(),
            is_tree: false,
            cache: &cache,
            bytes: 0,
        };
        let planned = planning.plan(arrays).map_err(|error| said(&error))?;
        let [PlannedArray { plan, path, .. }] = &planned[..] else { panic!("one array") };
        let is_first = self.between.is_none();
        let (name, objects) = match plan.job.staged().filter(|_| is_first) {
            Some(staged) => (name_of_pass(path, FIRST_PASS), staged.staging.metadata.num_chunks()),
            None => (path.clone(), plan.destination.metadata.num_chunks()),
        };
        let units = share(objects);
        let folder = format!(".zarrcast/parts/{is_first}/{}", units.start);
        let folder = output.data().child(&folder).unwrap();
        let assigned = Assignment::from([(name.clone(), ChunkSet::from_ranges(vec![units]))]);
        let fingerprint = Fingerprint::new([("a", vec![&b"a"[..]])]);
        let journal =
            Journal::open_part((&folder, output.data()), &fingerprint, assigned).map_err(|error| said(&error))?;
        let part = journal.pass(path);
        let mut tally = ObjectReport::default();
        let written = if let Some(between) = self.between {
            remove_unfinished(&plan.target, &plan.destination.metadata, &part, &driver)
                .map_err(|error| said(&error))?;
            tally.add(&part.before);
            let fold = |report| tally.add(&report);
            plan.job.run_second(between, &driver, &Silent, &part, fold).map(|()| between)
        } else {
            plan.job.run_first(&driver, &Silent, &part, |report| tally.add(&report))
        };
        let written = written.map_err(|fault| said(&fault))?;
        journal.checkpoint().map_err(|error| said(&error))?;
        if !is_first {
            let counted = journal.counted(path).map_err(|error| said(&error))?;
            assert_eq!((counted.written, counted.bytes_written), (tally.written, tally.bytes_written));
        }
        assert!(through.is_none_or(|faults| !faults.calls().is_empty()));
        folder.remove_root().map_err(|error| said(&error))?;
        Ok((tally, written, plan.destination.metadata.clone()))
    }
}

/// Writes the objects in `count` shares, the last first; each is killed at some call of it before, where `kills`.
fn run_shares(scene: &Scene, run: &Run<'_>, count: u64, kills: bool) -> Vec<Done> {
    let shares = (0..count).rev().map(|number| {
        let share = |objects: u64| objects * number / count..objects * (number + 1) / count;
        for at in (0..400).step_by(23).filter(|_| kills) {
            let faults = Faults::new([(at, Failure::Kill)]);
            let mut options = scene.with(&faults);
            options.destination = faults.wrap(&scene.node("c")).into();
            options.run = run.options.run.clone();
            let _ = Run { options: &options, between: run.between }.write(share, Some(&faults));
        }
        run.write(share, None).unwrap()
    });
    shares.collect()
}

fn try_shares(route: &str, source: &Files, change: &TranscodeOptions) {
    let kind = Kind::Local;
    for (count, kills) in [(1, false), (3, false), (3, true), (40, false)] {
        let case = format!("{route}, {kind:?}, {count}, {kills}");
        let scene = Scene::new(kind, source, change, false);
        let result = transcode(&scene.options, &Silent, &Interrupt::default()).unwrap();
        let is_chunk = |key: &String| !key.contains("zarr.json") && !key.contains(".z");
        let chunks = |files: Files| -> Files { files.into_iter().filter(|(key, _)| is_chunk(key)).collect() };
        let whole = chunks(scene.destination());

        let mut options = scene.options.clone();
        options.destination = scene.node("c").into();
        options.run.resume = true;
        scene.node("c").write(".zarrcast/begun", b"").unwrap();
        let between = run_shares(&scene, &Run { options: &options, between: None }, count, kills);
        let between = between.iter().fold(Intermediate::default(), |all, (_, written, _)| Intermediate {
            objects: all.objects + written.objects,
            bytes: all.bytes + written.bytes,
        });
        let done = run_shares(&scene, &Run { options: &options, between: Some(between) }, count, kills);
        let mut tally = ObjectReport::default();
        for (report, ..) in &done {
            tally.add(report);
        }
        let found = chunks(files(&scene.node("c")));
        assert!(found == whole, "{case}: {:?} {:?}", found.keys(), whole.keys());
        assert_eq!(tally.written, whole.len() as u64, "{case}");
        let listed = list(&scene.node("c"), &done[0].2, &new_driver(1, &Interrupt::default()).unwrap());
        assert_eq!(tally.written_digest, digest_of(&listed.unwrap().present), "{case}");
        assert_eq!(Some(tally.bytes_written), result.nodes[0].counts.bytes_written, "{case}");
    }
}

#[test]
fn shares_of_every_route_make_what_one_run_makes() {
    let text = ["recode of text", "rechunk of text"];
    let others =
        ["copy", "copy of v2", "recode", "recode inside shards", "into shards", "rechunk of shards", "fill value"];
    each_route(&[&text[..], &others].concat(), try_shares);
}

#[test]
fn shares_of_both_passes_make_what_one_run_makes() {
    let (source, change) = two_passes();
    try_shares("two passes", &source, &change);
}
