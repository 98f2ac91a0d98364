"""Jobs of the random test over stores: whole, ended in the middle and resumed, refused, in parts; and what must come of them."""

import json
import os
import random
import signal
from dataclasses import dataclass, field
from pathlib import Path

from fault_proxy import Answer, FaultProxy
from parts_jobs import numbers
from random_places import Stop, is_document, read_folder
from random_sources import Source
from random_trial import first_errors
from remote_servers import BUCKET

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]
MAX_PARTS = 6


@dataclass
class Case:
    number: int
    source: Source
    checksum: str
    folder: Path
    cloud: object
    random: random.Random
    words: list = field(default_factory=list)
    plain: Path | None = None
    expected: dict | None = None
    """The files that a plain run writes to `plain`, or None if it is refused."""
    read: object = None
    """SOURCE as the program is told it."""
    place: object = None
    way: str = ""
    seconds: float = 0.1
    """The seconds of the plain run."""

    def prefix(self):
        return f"{self.folder.parents[1].name}/{self.number}"

    def chance(self, share):
        return self.random.random() < share


def draw_stop(case):
    number, removing = case.random.choice(SIGNALS), case.chance(0.25)
    requests = case.random.choice(["late"] if removing else ["answered", "lost", "late"]) if number == signal.SIGKILL else "answered"
    return Stop(number, case.random.random() * 1.1, requests, case.random.randint(0, 3), removing)


def check_done(case, left=True, strangers=False):
    """Fails unless DEST is valid and has the files of the plain run. Without `left` runs may have left files of their own.

    With `strangers` keys that are none of DEST's chunks may lie beside: they change no value.
    """
    found = case.place.found()
    assert found is not None, "it ended with 0, and DEST does not open"
    if strangers and case.expected:
        compared = case.place.direct.run("validate", "--json", case.place.name, "--against", case.plain)
        assert json.loads(compared.stdout)["against"]["equal"], compared.stdout
        found = {key: content for key, content in found.items() if key in case.expected}
    check_same(case, found)
    errors = first_errors(case.place.direct, [case.source.path, case.place.name])
    of_source = errors.get(str(case.source.path), {})
    errors = {code: text for code, text in errors.get(str(case.place.name), {}).items() if code not in of_source}
    assert not errors, f"validate: {errors}"
    assert not left or not case.place.left(), f"left: {case.place.left()}"


def check_same(case, found):
    expected = case.expected
    assert expected is not None, "a plain run is refused, and this is not"
    lacking, more = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
    differing = sorted(key for key in expected.keys() & found.keys() if expected[key] != found[key])
    assert not lacking + more + differing, f"DEST opens and is not the plain run's: lacks {lacking[:5]}, has {more[:5]} beside, differs in {differing[:5]}"


def check_undone(case, old=None):
    """True if nothing opens, or the old DEST. Else DEST is complete, and the run was ended before it could say so."""
    found = case.place.found()
    if found is None:
        assert old is None or not case.place.keeps_old, "the old DEST is gone before there is a new one"
        return True
    if found == old:
        return True
    check_same(case, found)
    return False


def run_to_end(case, arguments, old=None):
    ended = case.place.run(*arguments)
    if case.expected is None:
        assert ended.status != 0, "a plain run is refused, and this is not"
        assert check_undone(case, old)
        return
    assert ended.status == 0, f"{ended}"
    check_done(case)


def put_old(case):
    """Sometimes writes an old DEST, to be replaced. Returns it, and the option."""
    if not case.chance(0.4):
        return None, []
    old = read_folder(case.source.path)
    case.place.write(old)
    return old, ["--overwrite"]


def whole(case):
    old, option = put_old(case)
    run_to_end(case, ["transcode", *case.words, *option, case.read, case.place.name], old)


def ended(case):
    old, option = put_old(case)
    job = ["transcode", *case.words, *option]
    for _ in range(case.random.choice([1, 1, 2, 3])):
        stop = draw_stop(case)
        found = case.place.run(*job, case.read, case.place.name, stop=stop)
        if found.status == 0:
            return check_done(case)
        if not check_undone(case, old):
            return resume_complete(case, job)
        if not stop.fired.is_set():
            assert case.expected is None, f"{found}"
        job = ["transcode", *case.words, *option, "--resume"]
    return run_to_end(case, [*job, case.read, case.place.name], old)


def resume_complete(case, job):
    """Resumes a run that was ended after DEST was complete. DEST stays as it is. The journal is removed, or the run is refused."""
    again = case.place.run(*job, *["--resume"] * ("--resume" not in job), case.read, case.place.name)
    assert again.status in (0, 3), str(again)
    check_done(case, left=again.status == 0)


def refused(case):
    """A bucket that refuses writes from some request on. Nothing opens; the job is resumed when the bucket takes writes again."""
    old, option = put_old(case)
    place = case.place
    place.refused_from = int(case.random.random() * 1.1 * len(case.expected or "x"))
    found = place.run("transcode", *case.words, *option, case.read, place.name)
    place.refused_from = None
    if found.status == 0:
        return check_done(case)
    place.steps[-1] += ": a PUT was refused"
    assert check_undone(case, old), "it opens, and a request was refused"
    return run_to_end(case, ["transcode", *case.words, *option, "--resume", case.read, place.name], old)


def upload(case):
    prefix = f"{case.prefix()}-source"
    store = case.cloud.obstore(prefix)
    for key, content in read_folder(case.source.path).items():
        store.put(key, content)
    case.read = f"{case.cloud.scheme}://{BUCKET}/{prefix}"


def lied_to(case):
    """A chunk of SOURCE that is listed, and is not there when it is read, or comes without a body."""
    place, keys = case.place, [key for key in read_folder(case.source.path) if not is_document(key)]
    if case.chance(0.5):
        case.words, case.plain = [], case.folder / "copy.zarr"
        copied = place.direct.run("transcode", case.source.path, case.plain)
        case.expected = read_folder(case.plain) if copied.returncode == 0 else None
    upload(case)
    direct = place.program.within(**case.cloud.environment)
    if not keys:
        place.program = direct
        return whole(case)
    path, answer, lied = f"/{BUCKET}/{case.prefix()}-source/{case.random.choice(keys)}", Answer(case.random.choice([404, 204])), []

    def fault(_, request):
        if request.method == "GET" and request.path == path:
            lied.append(path)
            return answer
        return None

    with FaultProxy(case.cloud.endpoint, fault) as proxy:
        place.program = direct.within(**case.cloud.at(proxy.address))
        found = place.run("transcode", *case.words, case.read, place.name)
    place.program = direct
    if not lied:
        return case.expected is None or check_done(case)
    place.steps.append(f"    # GET {path} was answered {answer.status}")
    assert found.status != 0, "a chunk that is listed was not there, and it ended with 0"
    assert check_undone(case)
    return run_to_end(case, ["transcode", *case.words, *["--resume"] * place.is_begun(), case.read, place.name])


def parts(case):
    """A job in parts, in random order. Some parts run twice, at once, or are ended in the middle."""
    place = case.place
    init = ["transcode", *case.words, "--init", "--partitions", case.random.randint(1, MAX_PARTS), "--json", case.read, place.name]
    if case.chance(0.15):
        place.run(*init, stop=draw_stop(case))
        assert check_undone(case) and not place.opens(), "it opens before there is any part"
    planned = place.run(*init)
    assert check_undone(case), "it opens before there is any part"
    if planned.status != 0:
        assert case.expected is None, f"{planned}"
        return
    do_parts(case, json.loads(planned.stdout)["passes"])
    finish(case)


def do_parts(case, passes, alone=True):
    """Does the parts of every pass. With `alone` none of them is done yet."""
    place = case.place
    for index, one in enumerate(passes):
        order = list(range(one["partitions"]))
        order += case.random.sample(order, case.random.randint(0, len(order)))
        case.random.shuffle(order)
        if index + 1 < len(passes) and case.chance(0.3):
            early = place.run(*part(case, 0, passes[index + 1]["name"]))
            assert early.status == 4, f"a part that cannot run yet, not 4: {early}"
        if order and alone and case.chance(0.3):
            done = place.run("transcode", "--finish", case.read, place.name)
            assert done.status == 1, f"finished, and no part is done: {done}"
        for number in order:
            do_part(case, number, one["name"])
        assert check_undone(case), "it opens before it is finished"
        do_missing(case, one["name"])


def do_missing(case, name):
    status = json.loads(case.place.run("transcode", "--status", "--json", case.read, case.place.name).stdout)
    missing = next(found["missing"] for found in status["passes"] if found["name"] == name)
    for number in sorted(numbers(missing or "")):
        ran = case.place.run(*part(case, number, name))
        assert ran.status == 0 or case.expected is None, f"{ran}"


def part(case, number, name):
    threads = case.random.choice([[], ["--threads", "1"]])
    return ["transcode", "--partition", number, "--pass", name, *threads, case.read, case.place.name]


def do_part(case, number, name):
    """Does one part: to its end, twice at once, or until it is ended."""
    place, kind = case.place, case.random.random()
    if kind < 0.25:
        place.run(*part(case, number, name), stop=draw_stop(case))
    elif kind < 0.4:
        both = [place.start(*part(case, number, name)) for _ in range(2)]
        statuses = [place.end(process).status for process in both]
        assert case.expected is None or (0 in statuses and set(statuses) <= {0, 3}), f"the same part twice at once ended with {statuses}"
    else:
        done = place.run(*part(case, number, name))
        assert case.expected is None or done.status == 0, f"{done}"


def finish(case, strangers=False):
    """Finishes a job in parts, sometimes after a finish that was ended."""
    place, command = case.place, ["transcode", "--finish", case.read, case.place.name]
    if case.chance(0.3) and place.run(*command, stop=draw_stop(case)).status != 0:
        check_undone(case)
    done = place.run(*command)
    if case.expected is None:
        assert done.status != 0, "a plain run is refused, and this is not"
        assert check_undone(case)
        return
    assert done.status == 0, f"{done}"
    check_done(case, not strangers, strangers)
    again = place.run(*command)
    assert again.status == 0, f"a second finish: {again}"


def straggler(case):
    """A part of a job that was removed and planned anew goes on. Its chunks are not taken for those of the new job."""
    place = case.place
    other = ["--compress", case.random.choice(["gzip:1", "zstd:3", "none"])]
    planned = place.run("transcode", *other, "--init", "--partitions", 2, "--json", case.read, place.name)
    if planned.status != 0 or case.expected is None:
        return
    last = json.loads(planned.stdout)
    number, name = case.random.randrange(last["passes"][-1]["partitions"]), last["passes"][-1]["name"]
    stop = Stop(signal.SIGSTOP, case.random.random())
    process = place.start(*part(case, number, name), stop=stop)
    while not stop.fired.wait(0.005) and process.poll() is None:
        pass
    if process.poll() is None:
        # Its threads go on for a moment after the signal is sent.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    place.settle()
    place.remove()
    place.steps.append("    # DEST is removed, all keys")
    again = place.run("transcode", *case.words, "--init", "--partitions", 2, "--json", case.read, place.name)
    place.steps.append("    # the part of the first job goes on (SIGCONT)")
    process.send_signal(signal.SIGCONT)
    place.end(process)
    assert again.status == 0, f"{again}"
    assert check_undone(case), "it opens, and a part of another job alone was done"
    passes = json.loads(again.stdout)["passes"]
    do_parts(case, passes, alone=False)
    # What the first job's part put beside or over theirs is found: parts are named as missing, or chunks that no part wrote.
    command = ["transcode", "--finish", case.read, place.name]
    done = place.run(*command)
    if done.status == 1:
        do_missing(case, passes[-1]["name"])
        done = place.run(*command)
    if done.status == 3 and "no part wrote" in done.stderr:
        assert check_undone(case), "it is refused, and opens"
        return
    finish(case, strangers=True)


WAYS = {"whole": whole, "ended": ended, "refused": refused, "lied to": lied_to, "parts": parts, "straggler": straggler}
