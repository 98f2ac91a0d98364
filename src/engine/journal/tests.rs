//! Tests of the journal.

use super::*;

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
    folder.path().join(FILE.as_str())
}

/// The text of the journal, and the same with the lines of another boot.
fn rewrite(node: &Node, change: impl Fn(String) -> String) {
    let mut log = node.open_log(&FILE).unwrap().unwrap();
    let text = String::from_utf8(log.read(1 << 20).unwrap()).unwrap();
    log.truncate(0).unwrap();
    log.append(change(text).as_bytes()).unwrap();
}

#[test]
fn journal_taken_up_knows_finished_units_and_what_was_counted() {
    let (_folder, node) = folder();
    let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
    for unit in [3, 0, 1, 7] {
        journal.part("/a").finished(unit..unit + 1, &counted(10)).unwrap();
    }
    journal.part("/b").finished(5..9, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
    let part = journal.part("/a");
    let done: Vec<u64> = (0..10).filter(|unit| part.is_done(*unit)).collect();
    assert_eq!(done, [0, 1, 3, 7]);
    assert_eq!(part.before().bytes_written, 40);
    assert_eq!(part.before().figures.sum_of_squares, 0.1 + 0.1 + 0.1 + 0.1);
    assert!(journal.part("/b").is_done(8) && !journal.part("/b").is_done(9));
    assert_eq!((journal.num_units(), journal.bytes_written()), (8, 41));
    journal.remove().unwrap();
    assert!(!Journal::is_at(&node));
}

#[test]
fn torn_line_and_what_follows_it_do_not_count() {
    let (folder, node) = folder();
    let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
    journal.part("/").finished(0..1, &counted(1)).unwrap();
    journal.flush().unwrap();
    journal.part("/").finished(1..2, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let whole = std::fs::read(path(&folder)).unwrap();
    let first_two = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    for cut in first_two..whole.len() {
        std::fs::write(path(&folder), &whole[..cut]).unwrap();
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        let part = journal.part("/");
        assert!(part.is_done(0) && !part.is_done(1), "cut at {cut}");
        // What is noted next follows whole lines.
        part.finished(5..6, &counted(1)).unwrap();
        journal.flush().unwrap();
        drop(journal);
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        assert!(journal.part("/").is_done(5));
    }
}

#[test]
fn header_of_a_journal_of_any_length_tells_what_it_replaces() {
    let (folder, node) = folder();
    for replaces in [false, true] {
        let journal = Journal::begin(&node, &fingerprint("x"), replaces).unwrap();
        drop(journal);
        let file = std::fs::File::options().write(true).open(path(&folder)).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(Journal::replaces_at(&node), replaces);
    }
}

#[test]
fn header_that_is_torn_is_no_journal() {
    let (_folder, node) = folder();
    Journal::begin(&node, &fingerprint("x"), false).unwrap();
    rewrite(&node, |text| text[..text.len() / 2].to_owned());
    assert!(Journal::resume(&node, &fingerprint("x")).unwrap().is_none());
    // It is begun anew, whatever stands there.
    assert!(Journal::begin(&node, &fingerprint("y"), false).is_ok());
    assert!(Journal::resume(&node, &fingerprint("y")).unwrap().is_some());
}

#[test]
fn units_after_the_last_checkpoint_of_another_boot_are_done_again() {
    let (_folder, node) = folder();
    let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
    journal.part("/").finished(0..4, &counted(1)).unwrap();
    journal.checkpoint().unwrap();
    journal.part("/").finished(4..6, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let boot = machine::boot_id().unwrap();
    rewrite(&node, |text| text.replace(&boot, "another"));
    for _ in 0..2 {
        let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
        let part = journal.part("/");
        assert!(part.is_done(3) && !part.is_done(4));
        assert_eq!(part.before().bytes_written, 1);
    }
    let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
    journal.part("/").finished(4..5, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    assert!(Journal::resume(&node, &fingerprint("x")).unwrap().unwrap().part("/").is_done(4));
}

#[test]
fn other_plan_and_other_run_are_refused() {
    let (_folder, node) = folder();
    let journal = Journal::begin(&node, &fingerprint("x"), false).unwrap();
    assert!(matches!(Journal::resume(&node, &fingerprint("x")), Err(JournalError::Locked)));
    assert!(matches!(Journal::begin(&node, &fingerprint("x"), false), Err(JournalError::Locked)));
    drop(journal);
    let refused = Journal::resume(&node, &fingerprint("y")).unwrap_err();
    assert_eq!(refused.to_string(), "what differs: options");
}

#[test]
fn line_that_cannot_be_written_leaves_whole_lines() {
    use crate::store::faulty::{Call, Failure, Faults};
    let (_folder, node) = folder();
    // Beginning makes, locks, empties and heads the log: the next line is its third write.
    let faults = Faults::new([(4, Failure::ShortWrite)]);
    let journal = Journal::begin(&faults.wrap(&node), &fingerprint("x"), false).unwrap();
    journal.part("/").finished(0..1, &counted(1)).unwrap();
    assert_eq!(faults.calls(), [Call::Create, Call::Lock, Call::Write, Call::Write]);
    assert!(journal.flush().is_err());
    journal.part("/").finished(7..8, &counted(1)).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let journal = Journal::resume(&node, &fingerprint("x")).unwrap().unwrap();
    assert!(journal.part("/").is_done(7) && !journal.part("/").is_done(0));
}
