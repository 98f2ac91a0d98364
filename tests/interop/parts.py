"""Jobs in parts with the engines of `--print-script`: two nodes of Slurm, Dask, Snakemake, and Kubernetes Jobs.

Each runs the printed script, and parts are killed during their work. The result equals that of a plain run, byte for
byte. Slurm and munge are Debian's. Without them that part is skipped with a message.
"""

import contextlib
import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import yaml
from parts_jobs import ODD_NAME, OPTIONS, PARTS, Job, cluster, lacking, make_source, numbers, part_of
from program import free_port, until
from remote_servers import BUCKET, cloud

ALL = f"0-{PARTS - 1}"


def shared(zarrcast, place):
    """Returns the folder of SOURCE and of the result of a plain run, which all sections share."""
    folder = place.parent / "shared"
    if not folder.exists():
        make_source(folder / ODD_NAME)
        zarrcast.ok("transcode", *OPTIONS, folder / ODD_NAME, folder / "plain")
    return folder


def slurm(tally, zarrcast, place):
    """One array of tasks per pass. A part is cancelled before it begins, and a running task and process are killed."""
    if absent := lacking():
        print(f"NOT RUN: slurm: no {', '.join(absent)}; Debian's are slurmctld, slurmd, slurm-client and munge", flush=True)
        return
    job = Job(zarrcast, shared(zarrcast, place), place)
    script = job.script("slurm", "job.sh")
    with cluster() as slurm:
        slurm.environment["PATH"] = f"{place / 'bin'}{os.pathsep}{slurm.environment['PATH']}"
        submit = functools.partial(slurm.run, "bash", script, folder=place)
        with tally.case("slurm", "a part that never ran keeps nothing waiting"):
            submit("--hold")
            first = slurm.jobs("--sort=i")[0].partition("_")[0]
            slurm.run("scancel", f"{first}_3")
            slurm.run("scontrol", "release", *{name.partition("_")[0] for name in slurm.jobs()})
            slurm.settle()
            assert job.missing() == {"range": "3", "write": ALL}, job.missing()
            logs = [path.read_text() for path in place.glob("slurm-*.out")]
            assert any("submit what is missing" in log and "range" in log for log in logs), logs
        with tally.case("slurm", "parts killed in the middle"):
            said = submit()
            assert "pass range: parts 3\n" in said and f"pass write: parts {ALL}\n" in said, said
            killed = {int(job.kill_a_part("write"))}
            write = said.split("submitted ")[2].split()[0]
            index = int(until(lambda: {int(part_of(words)) for words in job.parts("write").values()} - killed, "another part runs").pop())
            slurm.run("scancel", "--signal=KILL", "--full", f"{write}_{index}")
            slurm.settle()
            missing = job.missing()
            # The part of the killed task may have finished by then.
            assert list(missing) == ["write"] and killed <= numbers(missing["write"]) <= killed | {index}, (missing, killed, index)
        with tally.case("slurm", "what is missing, and the finish"):
            assert f"pass write: parts {missing['write']}\n" in submit()
            slurm.settle()
            job.check_done()
            assert submit() == "the job is complete\n"
        with tally.case("slurm", "more parts than an array has tasks"):
            few = Job(zarrcast, shared(zarrcast, place), place / "few")
            script = few.script("slurm", "job.sh", "--first-index", 1)
            said = slurm.run("bash", script, folder=few.folder)
            assert f"pass range: parts 1-{PARTS}\n" in said, said
            slurm.settle()
            few.check_done()


@contextlib.contextmanager
def dask_workers(job):
    """A scheduler and two workers, each process in a separate session."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    dask, worker = ([sys.executable, "-m", f"distributed.cli.dask_{kind}"] for kind in ("scheduler", "worker"))
    with contextlib.ExitStack() as processes:

        def start(*command):
            return processes.enter_context(job.running(command, job.folder / "dask.log"))

        start(*dask, "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        yield address, [start(*worker, address, "--nthreads", 1, "--no-nanny", "--no-dashboard") for _ in range(2)]


def by_dask(job, written=None):
    """Runs the printed program. A worker is killed with its part, and later a part alone."""
    script = job.script("dask", "job.py")
    patient = script.read_text()
    assert "SECONDS_BEFORE_A_RETRY = 30\n" in patient
    script.write_text(patient.replace("SECONDS_BEFORE_A_RETRY = 30\n", "SECONDS_BEFORE_A_RETRY = 1\n"))
    log = job.folder / "job.log"
    with dask_workers(job) as (address, workers), job.running([sys.executable, script, address], log) as program:
        part = next(iter(until(lambda: job.parts("write"), "a part runs")))
        (worker,) = (worker for worker in workers if os.getsid(part) == worker.pid)
        os.killpg(worker.pid, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{part}").exists(), "the part has ended")
        job.kill_a_part("write")
        assert program.wait(timeout=120) == 0, log.read_text()
        assert job.is_complete()
        again = subprocess.run([sys.executable, script, address], capture_output=True, text=True, env=job.zarrcast.environment)
        assert again.returncode == 0, again.stderr
    job.check_done(written)


def dask(tally, zarrcast, place):
    """On the local disk, then on an object store."""
    with tally.case("dask"):
        by_dask(Job(zarrcast, shared(zarrcast, place), place))
    with tally.case("dask", "s3s-fs"), cloud("s3s-fs", place / "s3" / "server") as found:
        there = zarrcast.within(**found.environment)
        job = Job(there, shared(zarrcast, place), place / "s3" / "job", f"s3://{BUCKET}/to")
        by_dask(job, found.folder / BUCKET / "to")
        assert not found.uploads()


def snakemake(tally, zarrcast, place):
    """A part is killed and its rule tries it again. A second run has nothing to do."""
    job = Job(zarrcast, shared(zarrcast, place), place)
    command = [sys.executable, "-m", "snakemake", "--snakefile", job.script("snakemake", "Snakefile"), "--cores", "2"]
    log = place / "log"
    with tally.case("snakemake"):
        with job.running(command, log) as program:
            job.kill_a_part("write")
            assert program.wait(timeout=120) == 0, log.read_text()[-3000:]
        assert "Trying to restart" in log.read_text(), log.read_text()[-3000:]
        job.check_done()
    with tally.case("snakemake", "again"), job.running(command, place / "again") as program:
        assert program.wait(timeout=60) == 0 and "Nothing to be done" in (place / "again").read_text()


def kubernetes(tally, zarrcast, place):
    """The Jobs match the published schemas, and their commands run, index by index. Early commands report that."""
    job = Job(zarrcast, shared(zarrcast, place), place)
    documents = list(yaml.safe_load_all(job.script("kubernetes", "job.yaml").read_text()))
    names = [document["metadata"]["name"] for document in documents]
    for version in ("1.29", kubernetes_validate.latest_version()):
        for name, document in zip(names, documents):
            with tally.case("kubernetes", version, name):
                kubernetes_validate.validate(document, version, strict=True)

    def run(document, index):
        """Returns the exit status of an index, and whether a Job retries it."""
        (container,) = document["spec"]["template"]["spec"]["containers"]
        # In Kubernetes, `$$` escapes a `$`.
        command = [word.replace("$$", "$") for word in container["command"]]
        environment = job.zarrcast.environment | {"JOB_COMPLETION_INDEX": str(index)}
        status = subprocess.run(command, env=environment, cwd=place, capture_output=True).returncode
        rules = [rule.get("onExitCodes", {}) for rule in document["spec"]["podFailurePolicy"]["rules"]]
        return status, not any(status in rule.get("values", []) for rule in rules)

    with tally.case("kubernetes", "all of it"):
        assert names == ["zarrcast-range", "zarrcast-write", "zarrcast-finish"], names
        assert [run(document, 0) for document in documents[1:]] == [(4, False), (1, False)], "too early"
        for document in documents:
            indices = range(document["spec"].get("completions", 1))
            assert all(run(document, index)[0] == 0 for index in indices), document["metadata"]
        job.check_done()


SECTIONS = [slurm, dask, snakemake, kubernetes]
