//! Tests of the journal.

use super::*;
use crate::store::{RUN_FOLDER, machine};

fn fingerprint(options: &str) -> Fingerprint {
    Fingerprint::new([("source", vec![b"a".as_slice()]), ("options", vec![options.as_bytes()])])
}

fn counted(bytes: u64) -> ObjectReport {
    let mut report = ObjectReport { written: 1, bytes_written: bytes, ..ObjectReport::default() };
    report.figures.sum_of_squares = 0.1;
    report
}

fn folder() -> (tempfile::TempDir, Node) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::new(folder.path());
    (folder, node)
}

fn path(folder: &tempfile::TempDir) -> std::path::PathBuf {
    folder.path().join(".zarrcast/journal")
}

/// Begins the journal of a run in a node.
fn begin(node: &Node, options: &str) -> Result<Journal, JournalError> {
    let journal = Journal::open((&node.below(&RUN_FOLDER), node), &fingerprint(options), false)?;
    journal.begin(true)?;
    Ok(journal)
}

/// Opens the journal of a resumed run.
fn resume(node: &Node, options: &str) -> Result<Journal, JournalError> {
    let journal = Journal::open((&node.below(&RUN_FOLDER), node), &fingerprint(options), true)?;
    journal.begin(true)?;
    Ok(journal)
}

/// Replaces the text of the journal.
fn rewrite(node: &Node, change: impl Fn(String) -> String) {
    let mut log = node.below(&RUN_FOLDER).begin_log(&JOURNAL).unwrap();
    let text = String::from_utf8(log.read(1 << 20).unwrap()).unwrap();
    log.cut(0).unwrap();
    log.append(change(text).as_bytes()).unwrap();
}

#[test]
fn journal_taken_up_knows_finished_units_and_what_was_counted() {
    let (_folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    for unit in [3, 0, 1, 7] {
        journal.pass("/a").finished(unit..unit + 1, &counted(10)).unwrap();
    }
    journal.pass("/b").finished(5..9, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let journal = resume(&node, "x").unwrap();
    let part = journal.pass("/a");
    let done: Vec<u64> = (0..10).filter(|unit| part.is_done(*unit)).collect();
    assert_eq!(done, [0, 1, 3, 7]);
    assert_eq!(part.before.bytes_written, 40);
    assert_eq!(part.before.figures.sum_of_squares, 0.1 + 0.1 + 0.1 + 0.1);
    assert!(journal.pass("/b").is_done(8) && !journal.pass("/b").is_done(9));
    assert_eq!(journal.total().bytes_written, 41);
    part.finished(4..5, &counted(7)).unwrap();
    let all = journal.counted("/a").unwrap();
    assert_eq!((all.written, all.bytes_written), (5, 47));
    assert_eq!(journal.counted("/c").unwrap().written, 0);
}

#[test]
fn torn_line_and_what_follows_it_do_not_count() {
    let (folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    journal.pass("/").finished(0..1, &counted(1)).unwrap();
    journal.flush().unwrap();
    journal.pass("/").finished(1..2, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let whole = std::fs::read(path(&folder)).unwrap();
    // The lines of the run, of its beginning, and of the first unit.
    let first_lines = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(2).unwrap().0 + 1;
    for cut in first_lines..whole.len() {
        std::fs::write(path(&folder), &whole[..cut]).unwrap();
        let journal = resume(&node, "x").unwrap();
        let part = journal.pass("/");
        assert!(part.is_done(0) && !part.is_done(1), "cut at {cut}");
        // The next entry is appended after whole lines.
        part.finished(5..6, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let journal = resume(&node, "x").unwrap();
        assert!(journal.pass("/").is_done(5));
    }
}

#[test]
fn run_begins_once_its_destination_is_ready() {
    let (_folder, node) = folder();
    let open = |options, resumes| Journal::open((&node.below(&RUN_FOLDER), &node), &fingerprint(options), resumes);
    let journal = open("x", true).unwrap();
    assert!(!journal.left.is_noted && !journal.left.is_begun);
    journal.begin(false).unwrap();
    drop(journal);
    assert!(open("y", true).is_err());
    let journal = open("x", true).unwrap();
    assert!(journal.left.is_noted && !journal.left.is_begun);
    journal.begin(false).unwrap();
    journal.checkpoint().unwrap();
    drop(journal);
    assert!(open("x", true).unwrap().left.is_begun && !open("y", false).unwrap().left.is_begun);
}

#[test]
fn header_that_is_torn_is_no_journal() {
    let (_folder, node) = folder();
    begin(&node, "x").unwrap();
    rewrite(&node, |text| text[..text.len() / 2].to_owned());
    assert!(!resume(&node, "x").unwrap().left.is_begun);
    // A new run begins, whatever the journal contains.
    assert!(begin(&node, "y").is_ok());
    assert!(resume(&node, "y").unwrap().left.is_begun);
}

#[test]
fn units_after_the_last_checkpoint_of_another_boot_are_done_again() {
    let (_folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    journal.pass("/").finished(0..4, &counted(1)).unwrap();
    journal.checkpoint().unwrap();
    journal.pass("/").finished(4..6, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let boot = machine::boot_id().unwrap();
    rewrite(&node, |text| text.replace(&boot, "another"));
    for _ in 0..2 {
        let journal = resume(&node, "x").unwrap();
        let part = journal.pass("/");
        assert!(part.is_done(3) && !part.is_done(4));
        assert_eq!(part.before.bytes_written, 1);
    }
    let journal = resume(&node, "x").unwrap();
    journal.pass("/").finished(4..5, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    assert!(resume(&node, "x").unwrap().pass("/").is_done(4));
}

#[test]
fn other_plan_and_other_run_are_refused() {
    let (_folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    assert!(matches!(resume(&node, "x"), Err(JournalError::Held(None))));
    assert!(matches!(begin(&node, "x"), Err(JournalError::Held(None))));
    drop(journal);
    let refused = resume(&node, "y").err().unwrap();
    assert_eq!(refused.to_string(), "what differs: options");
}

#[test]
fn line_that_cannot_be_written_leaves_whole_lines() {
    use crate::store::tests::faulty::{Call, Failure, Faults};
    let (_folder, node) = folder();
    // The beginning creates, locks, empties and writes the log. So the next line is its third write.
    let faults = Faults::new([(4, Failure::ShortWrite)]);
    let journal = begin(&faults.wrap(&node), "x").unwrap();
    journal.pass("/").finished(0..1, &counted(1)).unwrap();
    assert_eq!(faults.calls(), [Call::Create, Call::Lock, Call::Write, Call::Write]);
    assert!(journal.flush().is_err());
    journal.pass("/").finished(7..8, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let journal = resume(&node, "x").unwrap();
    assert!(journal.pass("/").is_done(7) && !journal.pass("/").is_done(0));
}

/// Opens the journal of a part of a job with these units of `/a`.
fn open_part(node: &Node, units: Range<u64>) -> Result<Journal, JournalError> {
    let folder = node.child(".zarrcast/parts/write/00003").unwrap();
    let assigned = Assignment::from([("/a".to_owned(), ChunkSet::from_ranges(vec![units]))]);
    Journal::open_part((&folder, node), &fingerprint("x"), assigned)
}

#[test]
fn journal_of_a_part_leaves_nothing_but_its_units_to_do() {
    let (_folder, node) = folder();
    let journal = open_part(&node, 10..20).unwrap();
    let part = journal.pass("/a");
    let left: Vec<u64> = (0..30).filter(|unit| !part.is_done(*unit)).collect();
    assert!(left.into_iter().eq(10..20));
    assert_eq!(part.left(ChunkSet::from_ranges(vec![0..12, 15..99])).len(), 7);
    assert!(part.done.is_empty() && journal.pass("/b").left(ChunkSet::full(9)).is_empty());
    assert!(matches!(open_part(&node, 10..20), Err(JournalError::Held(None))));
    part.finished(10..14, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let journal = open_part(&node, 10..20).unwrap();
    let part = journal.pass("/a");
    assert!(part.is_done(12) && !part.is_done(14) && part.is_done(20));
    assert_eq!((part.before.bytes_written, part.done.len()), (1, 4));
    // This part has no units in another pass, so they count as done.
    assert!(part.other("staging").is_done(14));
}

#[test]
fn part_that_two_do_at_once_where_nothing_is_locked_is_noted_by_each_for_itself() {
    use crate::store::tests::faulty::{Call, Failure, Faults};
    let (_folder, node) = folder();
    let unlocked = |node: &Node| Faults::of_kind(Call::Lock, Failure::Unsupported).wrap(node);
    let first = open_part(&unlocked(&node), 0..9).unwrap();
    let note = |journal: &Journal, unit| {
        journal.pass("/a").finished(unit..unit + 1, &counted(1)).unwrap();
        journal.flush().unwrap();
    };
    note(&first, 0);
    rewrite_host(&node);
    let second = open_part(&unlocked(&node), 0..9).unwrap();
    assert_eq!(second.pass("/a").done.len(), 1);
    for unit in 1..4 {
        note(&first, unit);
        note(&second, unit + 1);
    }
    rewrite_host(&node);
    let third = open_part(&unlocked(&node), 0..9).unwrap();
    let part = third.pass("/a");
    assert!(part.done.iter().eq([0, 2, 3, 4]));
    assert_eq!(part.before.written, 4);
}

/// Changes the journal as if it were from another machine.
fn rewrite_host(node: &Node) {
    let host = format!("\"host\":\"{}\"", machine::host_name());
    let mut log = node.child(".zarrcast/parts/write/00003").unwrap().begin_log(&JOURNAL).unwrap();
    let text = String::from_utf8(log.read(1 << 20).unwrap()).unwrap();
    log.cut(0).unwrap();
    log.append(text.replace(&host, "\"host\":\"elsewhere\"").as_bytes()).unwrap();
}

#[test]
fn journal_of_a_part_of_another_plan_is_refused() {
    let (_folder, node) = folder();
    drop(open_part(&node, 0..9).unwrap());
    let run = node.child(".zarrcast/parts/write/00003").unwrap();
    let other = Journal::open_part((&run, &node), &fingerprint("y"), Assignment::new());
    assert!(matches!(other, Err(JournalError::OtherPlan { .. })));
}

#[test]
fn journal_of_an_older_form_is_refused() {
    let (_folder, node) = folder();
    drop(begin(&node, "x").unwrap());
    let older = r#"{"schema":"zarrcast.journal/2","fingerprint":{},"replaces":false,"boot":null}"#;
    for older in [format!("{older}\n"), older.to_owned()] {
        rewrite(&node, |_| older.clone());
        let refused = resume(&node, "x").err().unwrap();
        assert_eq!(refused.to_string(), "what differs: the form of the journal");
    }
    rewrite(&node, |_| String::new());
    drop(begin(&node, "x").unwrap());
    rewrite(&node, |text| text.replace(SCHEMA, "zarrcast.journal/6"));
    assert!(resume(&node, "x").is_err());
}

/// A bucket removes the objects of a journal one after the other, and the process is killed in between.
#[test]
fn journal_that_was_removed_in_part_is_none() {
    let (_folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    journal.pass("/").finished(0..1, &counted(1)).unwrap();
    journal.checkpoint().unwrap();
    drop(journal);
    rewrite(&node, |text| text.split_inclusive('\n').skip(1).collect());
    assert!(!resume(&node, "x").unwrap().left.is_begun);
}

#[test]
fn run_whose_journal_was_removed_does_nothing_more() {
    let (folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    let unit = |number| journal.pass("/").do_once(number, || Ok(counted(1)));
    unit(0).unwrap();
    std::fs::remove_file(path(&folder)).unwrap();
    assert!(matches!(journal.confirm(), Err(JournalError::Lost)) && journal.is_lost());
    // The journal is checked once a second.
    std::thread::sleep(Duration::from_millis(1100));
    let error = unit(1).unwrap_err();
    assert!(format!("{error:?}").contains("Lost"), "{error:?}");
    // The same if another run has begun there since.
    let _other = begin(&node, "y").unwrap();
    assert!(matches!(journal.confirm(), Err(JournalError::Lost)));
}

#[test]
fn units_that_are_done_again_are_not_counted_again() {
    let (_folder, node) = folder();
    let journal = begin(&node, "x").unwrap();
    journal.pass("/").finished(0..3, &counted(7)).unwrap();
    let again = journal.pass("/").again(ChunkSet::from_iter(vec![1]));
    assert!(again.is_done(0) && !again.is_done(1));
    assert_eq!(again.do_once(1, || Ok(counted(7))).unwrap().bytes_written, 7);
    assert_eq!(journal.counted("/").unwrap().bytes_written, 7);
}
