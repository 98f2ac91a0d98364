#!/usr/bin/env python3
"""Random jobs of `transcode` over stores: into a folder, a zip or a bucket, in parts, ended in the middle and resumed.

What ends with 0 is byte for byte what a plain run writes into a folder, and `validate --level data` finds no error in it. What does
not end with 0 leaves nothing that opens; under `--overwrite` the old one, of a bucket nothing. Requests of a killed run may come late:
during the next run, before its last chunk. A failure names its number and all commands: `--seed SEED --only NUMBER` repeats it.
"""

import functools
import random
import shutil
import tempfile
import time
import warnings
from pathlib import Path

from random_jobs import WAYS, Case, upload
from random_options import draw_options
from random_places import Bucket, Folder, Zip, read_folder
from random_sources import draw_source
from random_trial import Trial, checksum, main
from remote_servers import cloud

warnings.filterwarnings("ignore")

# Those of random_transcode.py that are drawn here in another way, or whose outcome is another for each kind of store.
LEFT_OUT = {"--dry-run": 0, "--overwrite": 0, "--resume": 0, "--max-memory": 1}
FEW = 8


class Jobs(Trial):
    name = "random jobs over stores"

    def __init__(self, cloud, program, seed, folder):
        super().__init__(program, seed, folder)
        self.cloud = cloud

    def draw(self, group, numbers):
        folder, source, before = self.sourced(group, draw_larger)
        for number in numbers:
            place = folder / str(number)
            (place / "there").mkdir(parents=True)
            yield Case(number, source, before, place, self.cloud, random.Random(f"{self.seed} case {number}"))

    def run(self, case):
        """Returns the failure, or None."""
        try:
            self.plain(case)
            self.settle_place(case)
            WAYS[case.way](case)
            assert checksum(case.source.path) == case.checksum, "SOURCE was changed"
        except Exception as error:
            return error
        finally:
            if case.place:
                case.place.close()
        return None

    def plain(self, case):
        """Draws options until a plain run into a folder accepts them, a few times at most."""
        for attempt in range(4):
            _, words, _ = draw_options(case.random, case.source)
            case.words, case.expected = kept(words), None
            case.plain = case.folder / f"plain{attempt}.zarr"
            began = time.monotonic()
            process = self.program.run("transcode", *case.words, case.source.path, case.plain)
            case.seconds = time.monotonic() - began
            if process.returncode == 0:
                case.expected = read_folder(case.plain)
                return

    def settle_place(self, case):
        """Draws the kind of DEST and the course of the job."""
        there, kind = case.folder / "there", case.random.random()
        if kind < 0.2:
            case.place = Folder(self.program, there, there / "out.zarr", case.seconds)
        elif kind < 0.35:
            case.place = Zip(self.program, there, there / "out.zip", case.seconds)
        else:
            case.place = Bucket(self.program, there, self.cloud, case.prefix())
            # A lock, a journal and a few listings beside the keys.
            case.place.requests_expected = 8 + 1.3 * len(case.expected or "")
            case.words = [*case.words, *case.random.choice([[], ["--requests", "1"], ["--requests", "3"]])]
        case.read = case.source.path
        if isinstance(case.place, Bucket) and case.chance(0.2):
            upload(case)
        ways = {Zip: ["whole", "ended", "lied to"], Folder: ["whole", "ended", "ended", "parts", "parts", "straggler", "lied to"]}
        ways[Bucket] = [*ways[Folder], "ended", "refused"]
        case.way = case.random.choice(ways[type(case.place)])

    def judge(self, cases, found):
        for case, error in zip(cases, found):
            self.statuses[1 if case.expected is None else 0] += 1
            self.statuses["a signal"] += case.place.interrupted if case.place else 0
            if error is not None:
                self.fail(case, f", {case.way}", error, *(case.place.steps if case.place else []))


def draw_larger(random, path):
    for _ in range(4):
        source = draw_source(random, path)
        if len(read_folder(path)) > FEW or random.random() < 0.1:
            break
        shutil.rmtree(path)
    else:
        source = draw_source(random, path)
    return source


def kept(words):
    found, rest = [], iter(words)
    for word in rest:
        if word in LEFT_OUT:
            for _ in range(LEFT_OUT[word]):
                next(rest)
        else:
            found.append(word)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="zarrcast-moto-") as place, cloud("moto", Path(place) / "server") as found:
        main(functools.partial(Jobs, found), __doc__.splitlines()[0])
