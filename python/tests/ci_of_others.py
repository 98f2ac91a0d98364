"""Tests the integration of this repository in other projects' CI, as far as possible without GitHub and GitLab.

`ci_of_others.py WHEEL BIN SCRATCH` runs action.yml step by step, installing WHEEL. It runs the hooks of
.pre-commit-hooks.yaml and the examples of docs/ci.md with the programs of the folder BIN (zarrcast and python). Needs
PyYAML and pre-commit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Optional

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
FIELD = ROOT / "fixtures" / "valid" / "sea_surface_temperature"
WHEEL, BIN, SCRATCH = (Path(argument).resolve() for argument in sys.argv[1:4])
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    "PRE_COMMIT_HOME": str(SCRATCH / "pre-commit"),
}


def run(*command: Any, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder, with the tested programs on the PATH."""
    words = [str(word) for word in command]
    environment = {**ENVIRONMENT, **more}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def stores(folder: Path) -> None:
    """Writes `data/good.zarr`, and `data/not so good.zarr` without required members of an array."""
    shutil.copytree(FIELD, folder / "data" / "good.zarr")
    (folder / "data" / "not so good.zarr").mkdir()
    (folder / "data" / "not so good.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}', "utf-8")


def example(name: str) -> Any:
    """Returns the YAML between the markers of a name in docs/ci.md."""
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    found = re.search(rf"<!-- {name} -->\n```yaml\n(.*?)```\n<!-- /{name} -->", text, re.DOTALL)
    assert found, f"docs/ci.md has no example {name}"
    return yaml.safe_load(found[1])


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = SCRATCH / self.id()
        self.folder.mkdir(parents=True)
        stores(self.folder)


class Action(InFolder):
    """Runs the steps like the runner, except those of other actions. The first run installs the package for all."""

    installed: Optional[Path] = None

    def act(self, **inputs: str) -> None:
        action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
        self.assertLessEqual(set(inputs), set(action["inputs"]))
        defaults = {name: described.get("default", "") for name, described in action["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in {**defaults, "package": str(WHEEL), **inputs}.items()}
        self.log, self.status = "", 0
        self.used: list[dict[str, str]] = []
        (self.folder / "temp").mkdir()
        for step in action["runs"]["steps"]:
            if self.status == 0 and self.holds(step.get("if", "")):
                self.step(step)

    def step(self, step: dict[str, Any]) -> None:
        if "uses" in step:
            self.used.append({name: self.filled(value) for name, value in step["with"].items()})
            return
        if "install" in step["run"] and Action.installed is not None:
            (self.folder / "temp" / "zarrcast").symlink_to(Action.installed)
            return
        script, output = self.folder / "temp" / "script", self.folder / "temp" / "output"
        script.write_text(step["run"], "utf-8")
        output.write_text("", "utf-8")
        environment = {name: self.filled(value) for name, value in step.get("env", {}).items()}
        environment.update(RUNNER_TEMP=str(self.folder / "temp"), GITHUB_OUTPUT=str(output))
        done = run("bash", "--noprofile", "--norc", "-eo", "pipefail", script, folder=self.folder, **environment)
        self.log += done.stdout + done.stderr
        self.status = done.returncode
        if "install" in step["run"]:
            self.assertEqual(self.status, 0, self.log)
            Action.installed = self.folder / "temp" / "zarrcast"
        for line in output.read_text("utf-8").splitlines():
            name, value = line.split("=", 1)
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ *([a-z_.-]+) *\}\}", lambda found: self.values.get(found[1], ""), text)

    def holds(self, condition: str) -> bool:
        terms = condition.strip().removeprefix("${{").removesuffix("}}").split("&&")
        return all(self.term_holds(term.strip()) for term in terms if term.strip())

    def term_holds(self, term: str) -> bool:
        name, operator, literal = term.split()
        is_equal = self.values.get(name, "") == literal.strip("'")
        return is_equal if operator == "==" else not is_equal

    def test_valid_store(self) -> None:
        self.act(stores="data/good.zarr", level="data")
        self.assertEqual((self.status, self.used), (0, []), self.log)

    def test_findings_fail_the_job_and_are_uploaded(self) -> None:
        self.act(stores="data/good.zarr\n\ndata/not so good.zarr\n", sarif="true")
        self.assertEqual(self.status, 1, self.log)
        self.assertRegex(self.log, r"(?m)^::error .*title=.*Z[A-Z]\d{3}")
        (upload,) = self.used
        self.assertEqual(upload["category"], "zarrcast")
        log = json.loads(Path(upload["sarif_file"]).read_text("utf-8"))
        self.assertTrue(log["runs"][0]["results"])

    def test_options_are_words(self) -> None:
        self.act(stores="data/good.zarr", level="data", options="--deny ZX105\n  --quiet")
        self.assertEqual(self.status, 1, self.log)

    def test_options_are_not_run(self) -> None:
        self.act(stores="data/good.zarr", options="$(touch ran) ; touch ran")
        self.assertNotEqual(self.status, 0, self.log)
        self.assertFalse((self.folder / "ran").exists())

    def test_missing_store(self) -> None:
        self.act(stores="data/none.zarr", sarif="true")
        self.assertEqual(self.status, 3, self.log)

    def test_no_store(self) -> None:
        self.act(stores="\n")
        self.assertEqual(self.status, 2, self.log)


class Examples(InFolder):
    def test_gitlab(self) -> None:
        (job,) = example("gitlab").values()
        lines = [line for line in job["script"] if not line.startswith("pip install")]
        done = run("bash", "-ec", "\n".join(lines), folder=self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        report = xml.etree.ElementTree.parse(self.folder / job["artifacts"]["reports"]["junit"]).getroot()
        self.assertEqual(len(report.findall("testsuite")), 2)
        self.assertTrue(report.findall(".//failure"))


class PreCommit(InFolder):
    """The hooks with the installed program, without compiling it."""

    def setUp(self) -> None:
        super().setUp()
        for command in (["init", "-q"], ["add", "."]):
            self.assertEqual(run("git", *command, folder=self.folder).returncode, 0)

    def config(self, hook: str, arguments: list[str]) -> None:
        hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
        (found,) = (each for each in hooks if each["id"] == hook)
        found.update(language="system", args=arguments)
        found.pop("minimum_pre_commit_version")
        config = {"repos": [{"repo": "local", "hooks": [found]}]}
        (self.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, "-m", "pre_commit", *arguments, folder=self.folder)

    def test_stores_that_changed(self) -> None:
        self.config("zarrcast-validate", ["--level=data"])
        done = self.pre_commit("run", "--all-files", "--verbose")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("data/not so good.zarr", done.stdout)
        # Each store is passed once, not once per file.
        self.assertEqual(done.stdout.count("exit code"), 1)
        good = self.pre_commit("run", "--verbose", "--files", "data/good.zarr/c/0/0/0", ".pre-commit-config.yaml")
        self.assertEqual(good.returncode, 0, good.stdout)
        self.assertNotIn("not so good", good.stdout)
        none = self.pre_commit("run", "--files", ".pre-commit-config.yaml")
        self.assertIn("Skipped", none.stdout)

    def test_stores_that_are_named(self) -> None:
        self.config("zarrcast-validate-stores", ["--level=data", "data/good.zarr"])
        self.assertEqual(self.pre_commit("run", "--files", ".pre-commit-config.yaml").returncode, 0)
        self.config("zarrcast-validate-stores", ["data/good.zarr", "data/not so good.zarr"])
        self.assertEqual(self.pre_commit("run", "--files", ".pre-commit-config.yaml").returncode, 1)

    def test_manifest_and_examples(self) -> None:
        manifest = self.pre_commit("validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))
        self.assertEqual(manifest.returncode, 0, manifest.stdout)
        for name in ("pre-commit", "pre-commit-wheel"):
            path = self.folder / f"{name}.yaml"
            path.write_text(yaml.safe_dump(example(name)), "utf-8")
            config = self.pre_commit("validate-config", str(path))
            self.assertEqual(config.returncode, 0, config.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
