"""Tests of the module `zarrcast`, run against the program that `find_bin` finds."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import zarrcast
from zarrcast import _find_bin, _program, _read, pre_commit, results

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent.parent
VALID = ROOT / "fixtures" / "valid"
FIELD = VALID / "sea_surface_temperature"


class InFolder(unittest.TestCase):
    """A test with its own folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, text: str) -> str:
        """Writes a program that replaces zarrcast."""
        path = self.folder / "zarrcast"
        path.write_text(f"#!{sys.executable}\n{text}", "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def instead(self, text: str) -> Any:
        """Uses the Python script `text` as the program."""
        return mock.patch.object(_program, "find_bin", return_value=self.script(text))


class Inspect(unittest.TestCase):
    def test_array(self) -> None:
        array = zarrcast.inspect(FIELD, stats=True, histogram=(4, 0, 40))
        assert isinstance(array, results.InspectArray)
        self.assertEqual(array.shape, (2, 330, 360))
        self.assertEqual(array.dimension_names, ("time", "y", "x"))
        self.assertEqual(array.attributes and array.attributes["units"], "degree_C")
        assert array.stats and array.histogram and array.pipeline
        self.assertEqual(array.stats.nan, 107234)
        self.assertEqual(len(array.histogram.counts), 4)
        self.assertEqual([row.codec for row in array.pipeline], ["bytes", "zstd"])
        self.assertEqual(array.extra, {})

    def test_group(self) -> None:
        group = zarrcast.inspect(VALID / "zarr-python_3.1.6_group")
        assert isinstance(group, results.InspectGroup)
        self.assertIn("/temperature", [node.path for node in group.nodes])
        self.assertEqual(group.totals.arrays, sum(node.node_type == "array" for node in group.nodes))

    def test_several_stores(self) -> None:
        both = zarrcast.inspect(FIELD, VALID / "zarr-python_3.1.6_group")
        self.assertEqual([type(each) for each in both.stores], [results.InspectArray, results.InspectGroup])
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect(FIELD, "/no/such/store")
        self.assertEqual(len(raised.exception.result.failures), 1)

    def test_pipeline_inside_a_shard(self) -> None:
        array = zarrcast.inspect(VALID / "zarr-python_3.1.6_sharded_index_end")
        assert isinstance(array, results.InspectArray) and array.pipeline
        inner = array.pipeline[-1].pipeline
        assert inner
        self.assertIsInstance(inner[0], results.InspectCodec)

    def test_no_store(self) -> None:
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect("/no/such/store")
        self.assertEqual(raised.exception.status, 3)
        self.assertIn("does not exist", raised.exception.stderr)
        self.assertIn("does not exist", str(raised.exception))
        self.assertEqual(raised.exception.command[:3], ("zarrcast", "inspect", "--json"))

    def test_unknown_option_is_the_programs_matter(self) -> None:
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect(FIELD, no_such_option=3)
        self.assertEqual(raised.exception.status, 2)
        self.assertIn("--no-such-option", raised.exception.stderr)


class Validate(InFolder):
    def test_valid(self) -> None:
        result = zarrcast.validate(FIELD, level="data")
        self.assertTrue(result.valid)
        self.assertEqual((result.verdict, result.errors), ("valid", 0))

    def test_findings_are_a_result(self) -> None:
        (self.folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}', "utf-8")
        result = zarrcast.validate(self.folder)
        self.assertFalse(result.valid)
        self.assertEqual(result.errors, sum(finding.severity == "error" for finding in result.findings))
        self.assertRegex(result.findings[0].code, "^Z[A-Z][0-9]{3}$")

    def test_several_stores_of_which_one_cannot_be_read(self) -> None:
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.validate(FIELD, self.folder / "nothing")
        self.assertEqual(raised.exception.status, 3)
        result = raised.exception.result
        assert isinstance(result, results.ValidateResult)
        self.assertEqual(len(result.failures), 1)

    def test_comparison(self) -> None:
        result = zarrcast.validate(FIELD, against=FIELD, atol=0.5)
        assert result.against
        self.assertTrue(result.against.equal)
        self.assertEqual(result.against.nodes[0].elements, 237600)

    def test_list_is_an_option_for_each_item(self) -> None:
        result = zarrcast.validate(FIELD, level="data", deny=["warnings", "ZX105"])
        self.assertFalse(result.valid)


class Transcode(InFolder):
    def test_quantised(self) -> None:
        dest = self.folder / "small.zarr"
        result = zarrcast.transcode(FIELD, dest, quantize="uint8", compress="zstd:1", verify=True)
        self.assertTrue(result.complete)
        quantization = result.nodes[0].quantization
        assert quantization and quantization.max_abs_error is not None and quantization.bound is not None
        self.assertEqual((quantization.as_, quantization.codes), ("codecs", (1, 255)))
        self.assertLessEqual(quantization.max_abs_error, quantization.bound)
        page = self.folder / "small.html"
        zarrcast.transcode(FIELD, dest, quantize="uint8", overwrite=True, report=page)
        self.assertIn("Difference", page.read_text("utf-8"))
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.transcode(FIELD, dest)
        self.assertEqual(raised.exception.status, 3)

    def test_forms_of_options(self) -> None:
        dest = self.folder / "b.zarr"
        result = zarrcast.transcode(
            FIELD,
            dest,
            chunk_shape=(1, 330, 360),
            compress="zstd:1",
            attributes={"units": "K", "é": [1]},
            fill_value=-1,
            overwrite=False,
        )
        assert result.nodes[0].destination
        self.assertEqual(result.nodes[0].destination.chunk_shape, (1, 330, 360))
        array = zarrcast.inspect(dest)
        self.assertEqual(array.attributes, {"units": "K", "é": [1]})

    def test_dimensions_by_name(self) -> None:
        dest = self.folder / "c.zarr"
        part: dict[str, Any] = {"time": slice(0, 1), "y": slice(-110, None), "x": "100:220"}
        result = zarrcast.transcode(FIELD, dest, select=part, chunk_shape={"y": 55, "x": 0}, shard_shape={"y": 110})
        self.assertEqual(result.nodes[0].selection, ((0, 1), (220, 330), (100, 220)))
        assert result.nodes[0].destination
        self.assertEqual(result.nodes[0].destination.chunk_shape, (1, 55, 120))
        self.assertEqual(result.nodes[0].destination.shard_shape, (1, 110, 120))
        with self.assertRaisesRegex(ValueError, "slice.*step"):
            zarrcast.transcode(FIELD, self.folder / "d.zarr", select={"time": slice(0, 2, 2)})

    def test_parts(self) -> None:
        dest = self.folder / "parts.zarr"
        job = zarrcast.transcode(FIELD, dest, compress="zstd:1", init=True, partitions=2)
        self.assertEqual(job.partitions, 2)
        self.assertFalse(zarrcast.transcode(FIELD, dest, status=True).complete)
        part = zarrcast.transcode(FIELD, dest, partition=0)
        self.assertEqual((part.partition, part.pass_), (0, "write"))
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.transcode(FIELD, dest, finish=True)
        self.assertIsInstance(raised.exception.result, results.StatusResult)
        zarrcast.transcode(FIELD, dest, partition=1)
        self.assertTrue(zarrcast.transcode(FIELD, dest, finish=True).complete)
        self.assertTrue(zarrcast.transcode(FIELD, dest, status=True).complete)


class ApplyCodec(InFolder):
    def test_bytes(self) -> None:
        data = bytes(range(48))
        options: dict[str, Any] = {"codecs": "zstd:5", "data_type": "uint8", "shape": (48,)}
        encoded = zarrcast.apply_codec(data, **options)
        self.assertEqual([stage.codec for stage in encoded.stages], [None, "bytes", "zstd"])
        assert isinstance(encoded.data, bytes)
        self.assertEqual(encoded.data[:4], b"\x28\xb5\x2f\xfd")
        decoded = zarrcast.apply_codec(encoded.data, **options, decode=True)
        self.assertEqual(bytes(decoded.data), data)

    def test_files(self) -> None:
        source, dest = self.folder / "-in", self.folder / "out"
        source.write_bytes(bytes(8))
        result = zarrcast.apply_codec(source, dest, codecs="gzip:6", data_type="float64", shape="scalar")
        self.assertIsNone(result.data)
        self.assertEqual(dest.stat().st_size, result.stages[-1].bytes)

    def test_measured_alone(self) -> None:
        result = zarrcast.apply_codec(bytes(8), codecs="zstd:1", data_type="uint8", shape=8, round_trip=True, repeat=3)
        assert result.round_trip
        self.assertTrue(result.round_trip.bit_identical)
        self.assertEqual((result.repeat, result.data), (3, None))

    @unittest.skipIf(numpy is None, "without numpy")
    def test_arrays(self) -> None:
        for data_type in ("float16", "float32", "float64", "int8", "uint64", "bool", "complex64", ">f4"):
            array = numpy.arange(12).reshape(3, 4).astype(data_type)
            with self.subTest(data_type):
                encoded = zarrcast.apply_codec(array, codecs="zstd:1")
                self.assertIsInstance(encoded.data, bytes)
                name = numpy.dtype(data_type).name
                decoded = zarrcast.apply_codec(encoded.data, codecs="zstd:1", decode=True, data_type=name, shape=(3, 4))
                numpy.testing.assert_array_equal(decoded.data, array)
                self.assertEqual(decoded.data.dtype.name, name)

    @unittest.skipIf(numpy is None, "without numpy")
    def test_array_to_array(self) -> None:
        codecs = [
            {"name": "scale_offset", "configuration": {"offset": 5, "scale": 10}},
            {"name": "cast_value", "configuration": {"data_type": "uint8"}},
        ]
        array = numpy.array([[5.0, 6.0], [7.5, 30.5]], dtype="float32", order="F")
        codes = zarrcast.apply_codec(array, codecs=codecs).data
        numpy.testing.assert_array_equal(codes, numpy.array([[0, 10], [25, 255]], dtype="uint8"))
        back = zarrcast.apply_codec(codes, codecs=codecs, decode=True, data_type="float32", shape=(2, 2)).data
        numpy.testing.assert_array_equal(back, array)
        back[0, 0] = 1

    @unittest.skipIf(numpy is None, "without numpy")
    def test_stored_chunk(self) -> None:
        result = zarrcast.apply_codec(like=FIELD, chunk=(0, 0, 0))
        self.assertIsInstance(result.data, numpy.ndarray)
        self.assertEqual(result.data.shape, (1, 110, 120))

    @unittest.skipIf(numpy is None, "without numpy")
    def test_scalar_and_numbers_of_numpy(self) -> None:
        array = numpy.array(3.5)
        encoded = zarrcast.apply_codec(array, codecs="bytes", fill_value=numpy.float64("nan"))
        decoded = zarrcast.apply_codec(encoded.data, codecs="bytes", decode=True, data_type="float64", shape="scalar")
        self.assertEqual(decoded.data.shape, ())

    def test_wrong_length(self) -> None:
        with self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.apply_codec(bytes(7), codecs="zstd:1", data_type="float32", shape=2)
        self.assertEqual(raised.exception.status, 1)


class Documents(unittest.TestCase):
    """The conversion of JSON."""

    DOCUMENT: dict[str, Any] = {"schema": "zarrcast.validate/1", "valid": True}

    def test_members_of_a_newer_program_are_kept(self) -> None:
        result = _read.read_result(
            json.dumps({**self.DOCUMENT, "added": {"a": [1]}, "findings": [{"code": "ZZ999", "new": 2}]})
        )
        self.assertEqual(result.extra, {"added": {"a": [1]}})
        self.assertEqual(result.findings[0].extra, {"new": 2})

    def test_members_that_an_older_program_lacks_are_none(self) -> None:
        result = _read.read_result(json.dumps(self.DOCUMENT))
        self.assertIsNone(result.against)

    def test_other_forms_stay_as_they_are(self) -> None:
        result = _read.read_result(
            json.dumps({**self.DOCUMENT, "findings": 3, "absent": [4], "against": "x", "verdict": {}})
        )
        self.assertEqual((result.findings, result.absent, result.against, result.verdict), (3, (4,), "x", {}))

    def test_unknown_schema(self) -> None:
        for text in ('{"schema": "zarrcast.validate/2"}', "{}", "[]", "no"):
            with self.subTest(text), self.assertRaises(ValueError):
                _read.read_result(text)

    def test_numbers(self) -> None:
        pair = {"max_abs_difference": "NaN", "max_rel_difference": "-Infinity", "elements": 2**64 - 1, "value": "NaN"}
        document = {**self.DOCUMENT, "against": {"other": "b", "equal": False, "nodes": [pair]}}
        read = _read.read_result(json.dumps(document)).against.nodes[0]
        self.assertTrue(math.isnan(read.max_abs_difference))
        self.assertEqual((read.max_rel_difference, read.elements, read.value), (-math.inf, 18446744073709551615, "NaN"))

    def test_64_bit_statistics_are_exact(self) -> None:
        stats = {"min": -(2**63), "max": 2**64 - 1}
        read = _read.read_result(json.dumps({"schema": "zarrcast.inspect/2", "node_type": "array", "stats": stats}))
        self.assertIsInstance(read, results.InspectArray)
        self.assertEqual((read.stats.min, read.stats.max), (-9223372036854775808, 18446744073709551615))

    def test_node_of_an_unknown_type_is_read_as_what_is_most_like_it(self) -> None:
        document = {"schema": "zarrcast.inspect/2", "node_type": "table", "path": "/", "totals": {"arrays": 3}}
        read = _read.read_result(json.dumps(document))
        self.assertEqual((read.node_type, read.totals.arrays), ("table", 3))

    def test_words_of_python(self) -> None:
        node = {"path": "/", "quantization": {"as": "cf", "range": ["-Infinity", "0x7fc00000"]}}
        read = _read.read_result(json.dumps({"schema": "zarrcast.transcode/2", "nodes": [node]})).nodes[0]
        self.assertEqual((read.quantization.as_, read.quantization.range), ("cf", (-math.inf, "0x7fc00000")))

    def test_results_are_frozen(self) -> None:
        with self.assertRaises(dataclasses.FrozenInstanceError):
            _read.read_result(json.dumps(self.DOCUMENT)).valid = False


class Options(unittest.TestCase):
    def test_forms(self) -> None:
        options = {
            "quantize": "uint8",
            "verify": True,
            "overwrite": False,
            "step": None,
            "as_": "cf",
            "rule": ["a: --step 1", "b: --unpack"],
            "range": (-2.5, 1e300),
            "codecs": [{"name": "bytes"}],
            "expect": Path("/a b"),
            "fill_value": math.nan,
            "nan_value": -3,
        }
        expected = [
            "--quantize=uint8",
            "--verify",
            "--as=cf",
            "--rule=a: --step 1",
            "--rule=b: --unpack",
            "--range=-2.5,1e+300",
            '--codecs=[{"name": "bytes"}]',
            "--expect=/a b",
            "--fill-value=NaN",
            "--nan-value=-3",
        ]
        self.assertEqual(_program.arguments_of(options), expected)


class Program(InFolder):
    def test_no_result(self) -> None:
        with self.instead("print('hello')"), self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect("x")
        self.assertIn("no result", str(raised.exception))

    def test_no_message(self) -> None:
        with self.instead("raise SystemExit(3)"), self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect("x y")
        self.assertIn("inspect --json -- 'x y'", str(raised.exception))

    def test_killed(self) -> None:
        with self.instead("import os; os.kill(os.getpid(), 9)"), self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect("x")
        self.assertEqual(raised.exception.status, -9)

    def test_result_of_a_failure(self) -> None:
        document = '{"schema": "zarrcast.inspect/2", "node_type": "array", "path": "/"}'
        with self.instead(f"print('{document}'); raise SystemExit(1)"):
            with self.assertRaises(zarrcast.ZarrcastError) as raised:
                zarrcast.inspect("x")
        self.assertEqual(raised.exception.result.path, "/")

    def test_much_on_both_streams(self) -> None:
        text = "import sys; sys.stderr.write('e' * 5000000); print(' ' * 5000000 + '{}'); sys.exit(1)"
        with self.instead(text), self.assertRaises(zarrcast.ZarrcastError) as raised:
            zarrcast.inspect("x")
        self.assertGreater(len(raised.exception.stderr), 4999999)

    def test_progress_is_shown_on_a_terminal_and_is_no_part_of_the_error(self) -> None:
        shown: list[str] = []
        terminal = mock.Mock(closed=False, isatty=lambda: True, write=shown.append)
        text = (
            "import sys; sys.stderr.write('half \\r     \\rerror: é\\n'); print(sys.argv, file=sys.stderr); sys.exit(3)"
        )
        with self.instead(text), mock.patch.object(sys, "stderr", terminal):
            with self.assertRaises(zarrcast.ZarrcastError) as raised:
                zarrcast.inspect("x")
        self.assertIn("half \r", "".join(shown))
        self.assertTrue(raised.exception.stderr.startswith("error: é\n"), raised.exception.stderr)
        self.assertIn("--progress=always", raised.exception.stderr)

    def test_interrupt_lets_the_program_end_by_itself(self) -> None:
        mark = self.folder / "mark"
        script = self.script(
            "import pathlib, signal, sys, time\n"
            f"mark = pathlib.Path({str(mark)!r})\n"
            "def end(*_):\n    time.sleep(0.5)\n    mark.write_text('ended')\n    sys.exit(130)\n"
            "signal.signal(signal.SIGINT, end)\nmark.write_text('began')\ntime.sleep(60)\n"
        )
        # Background processes of a shell ignore interrupts, and so do their children.
        call = (
            "import signal, zarrcast, zarrcast._program as p\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"p.find_bin = lambda: {script!r}\nzarrcast.inspect('x')"
        )
        with subprocess.Popen([sys.executable, "-c", call], stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 30
            while not (mark.exists() and mark.read_text()) and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=30)
        self.assertIn(b"KeyboardInterrupt", stderr)
        self.assertEqual(mark.read_text(), "ended")

    def test_python_m_is_the_program(self) -> None:
        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "zarrcast", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        self.assertRegex(run("--version").stdout, r"^zarrcast \d")
        self.assertEqual(run("inspect", "/no/such/store").returncode, 3)
        self.assertEqual(run("inspect", "--no-such-option").returncode, 2)


class PreCommit(InFolder):
    def test_store_of_a_file_is_the_outermost_folder_with_a_document(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        os.makedirs("g.zarr/a/c")
        for file in ["g.zarr/zarr.json", "g.zarr/a/zarr.json", "g.zarr/a/c/0"]:
            Path(file).write_text("{}")
        stores_of = pre_commit.stores_of
        self.assertEqual(
            stores_of(["g.zarr/a/c/0", "g.zarr/a/zarr.json", "README.md", "b.zarr.zip"]), ["b.zarr.zip", "g.zarr"]
        )
        self.assertEqual(stores_of([str(self.folder / "g.zarr/a/c/0")]), [str(self.folder / "g.zarr")])
        Path("zarr.json").write_text("{}")
        self.assertEqual(stores_of(["zarr.json", "g.zarr/a/c/0", "README.md"]), ["."])


class FindBin(InFolder):
    def test_found(self) -> None:
        self.assertTrue(os.access(zarrcast.find_bin(), os.X_OK))

    def test_in_the_order_of_folders_and_then_on_the_path(self) -> None:
        script = self.script("")
        with mock.patch.object(_find_bin, "_folders", return_value=iter(["/no/such/folder", str(self.folder)])):
            self.assertEqual(zarrcast.find_bin(), script)
        with mock.patch.object(_find_bin, "_folders", return_value=iter([])):
            with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
                self.assertEqual(zarrcast.find_bin(), script)

    def test_nowhere(self) -> None:
        with mock.patch.object(_find_bin, "_folders", return_value=iter(["/no/such/folder"])):
            with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
                with self.assertRaises(zarrcast.ProgramNotFoundError) as raised:
                    zarrcast.find_bin()
        self.assertIn("/no/such/folder", str(raised.exception))


class Generated(unittest.TestCase):
    def test_results_are_fresh(self) -> None:
        check = [sys.executable, str(ROOT / "python" / "generate.py"), "--check"]
        self.assertEqual(subprocess.run(check, check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
