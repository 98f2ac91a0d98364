"""Plays Jobs of Kubernetes on this machine, as far as those of parts go: indices, retries of each, exit statuses that end one.

After https://kubernetes.io/docs/concepts/workloads/controllers/job/. The image and the volume are those of this machine.
"""

import subprocess
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 2


class IndexedJob:
    """A Job. `faults` are the exit statuses of indices that failed, `tries` all runs in order."""

    def __init__(self, job, environment, folder):
        self.spec = job["spec"]
        (self.container,) = self.spec["template"]["spec"]["containers"]
        # `$$` is how a `$` is written.
        self.command = [word.replace("$$", "$") for word in self.container["command"]]
        self.environment, self.folder = environment, folder
        self.tries, self.faults = [], {}

    def run(self):
        with ThreadPoolExecutor(min(AT_ONCE, self.spec.get("parallelism", 1))) as pool:
            for index, status in enumerate(pool.map(self.run_index, range(self.spec.get("completions", 1)))):
                if status:
                    self.faults[index] = status
        return self

    def run_index(self, index):
        """The last exit status of an index."""
        is_indexed = self.spec.get("completionMode") == "Indexed"
        retries = self.spec["backoffLimitPerIndex" if is_indexed else "backoffLimit"]
        environment = self.environment | ({"JOB_COMPLETION_INDEX": str(index)} if is_indexed else {})
        for _ in range(1 + retries):
            process = subprocess.run(
                self.command, env=environment, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
            self.tries.append((index, status))
            if status == 0 or self.action(status):
                break
        return status

    def action(self, status):
        """The action for an exit status. None is another try."""
        for rule in self.spec["podFailurePolicy"]["rules"]:
            if codes := rule.get("onExitCodes"):
                assert codes["operator"] == "In"
                if status in codes["values"]:
                    return rule["action"]
        return None
