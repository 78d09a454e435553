# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab bench, on made-up programs and a made-up GPU; and the page of benchmarks."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Dict, List

from fakes import LabTest, script
from lablib import benchmark_page, benchmarks
from lablib.benchmarks import Report, Result
from lablib.drawing import charts
from lablib.errors import LabError

# A program with two steps. BODY may change `ms`, `events` and what else it likes.
PROGRAM = """#!{python}
import json, os, sys, time
given = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("program " + " ".join(x for x in given if not x.startswith("/")) + "\\n")
options = dict(zip(given[::2], given[1::2]))
step = options.get("--step", "second")
repeat = int(options["--repeat"])
ms = [{{"first": 2.0, "second": 1.0}}.get(step, 4.0)] * repeat
events = [
    {{"event": "program", "name": "x", "device": "device 0: NVIDIA H200", "cpu_device": False,
      "options": {{}}, "steps": ["first", "second"]}},
    {{"event": "kernel", "ms": ms, "bytes": 1e9, "limit": 2e12}},
    {{"event": "library", "name": "cublasSdot", "ms": 0.5}},
]
{body}
with open(options["--measurements"], "w") as file:
    file.write("".join(json.dumps(event) + "\\n" for event in events))
"""

SMI = """#!/bin/sh
case "$1" in
  -L) echo 'GPU 0: NVIDIA H200 (UUID: GPU-1)' ;;
  *driver_version*) echo 580.95 ;;
  *) echo "1980, 3201, [N/A]" ;;
esac
"""


class BenchTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        script(self.bin / "nvcc", "#!/bin/sh\necho 'release 13.0, V13.0.88'\n")
        script(self.bin / "nvidia-smi", SMI)
        self.env["LAB_DEVICE"] = "gpu"
        self.write_program("")
        self.file = self.root / "new.json"

    def write_program(self, body: str, target: str = "lab.05.1") -> None:
        text = PROGRAM.format(python=sys.executable, body=body)
        script(self.root / "programs" / target, text)

    def bench(self, *arguments: str, **env: str) -> "subprocess.CompletedProcess":
        return self.lab("bench", "05.1", *arguments, **env)

    def programs(self) -> List[str]:
        return [call[len("program ") :] for call in self.calls() if call.startswith("program ")]

    def measured(self) -> Dict[str, Any]:
        return json.loads(self.file.read_text())

    def test_all_steps_are_measured_in_turns_there_and_back(self):
        done = self.bench("--rounds", "2", "--repeat", "5")
        self.assert_status(0, done)
        one = "--repeat 5 --measurements"
        self.assertEqual(
            ["--repeat 1 --measurements"]  # which tells the steps, and warms up
            + [f"--step first {one}", f"--step second {one}"]
            + [f"--step second {one}", f"--step first {one}"],
            self.programs(),
        )

    def test_the_table(self):
        done = self.bench()
        self.assertRegex(
            done.stdout,
            r"NVIDIA H200; CUDA 13.0; driver 580.95; multiprocessors, MHz: 1980 to 1980;"
            r" memory, MHz: 3201 to 3201\n",
        )
        self.assertRegex(
            done.stdout, r"first +default +2 +2 to 2 +500 GB/s +25 % +25 % \(cublasSdot\)\n"
        )
        self.assertRegex(done.stdout, r"second +default +1 +1 to 1 +1000 GB/s +50 % +50 %")

    def test_what_a_file_holds(self):
        self.assert_status(
            0, self.bench("--json", str(self.file), "--rounds", "2", "--repeat", "3")
        )
        data = self.measured()
        self.assertEqual(
            (1, "NVIDIA H200", False, "580.95", "13.0", 2),
            tuple(
                data[key] for key in ("version", "device", "cpu_device", "driver", "cuda", "rounds")
            ),
        )
        self.assertRegex(data["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual([1980, 1980], data["clocks"]["multiprocessors, MHz"])
        first = data["results"][0]
        self.assertEqual(("05.1_dot_product", "first"), (first["exercise"], first["step"]))
        self.assertEqual([2.0] * 6, first["samples_ms"])
        self.assertEqual((2.0, [2.0, 2.0]), (first["median_ms"], first["quartiles_ms"]))
        self.assertEqual(
            (5e11, "B/s", 0.25, 0.25),
            tuple(first[key] for key in ("rate", "unit", "of_limit", "of_library")),
        )
        self.assertEqual(data["results"], json.loads(benchmarks.read(self.file).text())["results"])

    def test_arguments_come_from_the_command_line_or_else_from_exercise_toml(self):
        toml = self.root / "labs/05_shared_memory/1_dot_product/exercise.toml"
        toml.write_text(
            'minutes = 1\nprerequisites = []\nbench = ["--size 1M", "--size 2M --x \'a b\'"]\n'
        )
        self.assert_status(0, self.lab("bench", "--rounds", "1"))  # the only one with a list
        sizes = [" ".join(call.split(" ")[:2]) for call in self.programs()]
        self.assertEqual(["--size 1M"] * 3 + ["--size 2M"] * 2, sizes)
        self.log.write_text("")
        self.assert_status(0, self.bench("--rounds", "1", "--", "--size", "7"))
        self.assertEqual(["--size 7"] * 3, [call[:8] for call in self.programs()])

    def test_the_folder(self):
        self.assert_status(0, self.bench("--out", str(self.root / "out"), "--", "--size", "1,5"))
        text = (self.root / "out/bench.csv").read_text().splitlines()
        self.assertEqual(13, len(text[0].split(",")))
        self.assertEqual(
            '05.1_dot_product,first,"--size 1,5",60,2,2,2,5e+11,B/s,0.2500,cublasSdot,0.5,0.2500',
            text[1],
        )
        xml.etree.ElementTree.parse(self.root / "out/05.1_dot_product_ladder.svg")

    def test_without_a_gpu_it_refuses_unless_asked_for_times_of_the_cpu_device(self):
        for device in ("cpu", "gpu"):
            env = {"LAB_DEVICE": device}
            if device == "gpu":
                script(self.bin / "nvidia-smi", "#!/bin/sh\n")
            done = self.bench(**env)
            self.assert_status(77, done)
            self.assertIn("measures GPUs, and there is none here", done.stderr)
            self.assertEqual([], self.programs())
        self.assert_status(77, self.bench("--cpu-times"))  # for the gpu, still
        self.write_program('events[0]["cpu_device"] = True')
        done = self.bench(
            *("--cpu-times", "--json", str(self.file), "--out", str(self.root / "out")),
            LAB_DEVICE="cpu",
        )
        self.assert_status(0, done)
        self.assertIn("say nothing about the speed of a GPU", done.stderr)
        self.assertRegex(done.stdout, r"first +default +2 +2 to 2\n")
        self.assertNotIn("GB/s", done.stdout)
        self.assertNotIn("rate", self.measured()["results"][0])
        self.assertNotIn("B/s", (self.root / "out/bench.csv").read_text())
        self.assertEqual([], list((self.root / "out").glob("*.svg")))

    def test_programs_that_fail_are_left_out(self):
        self.write_program('if step == "first": sys.exit("x: the vectors are wrong")')
        done = self.bench("--json", str(self.file))
        self.assert_status(0, done)
        self.assertEqual(1, done.stderr.count("05.1_dot_product first is left out"))
        self.assertIn("it failed: x: the vectors are wrong", done.stderr)
        self.assertEqual(["second"], [row["step"] for row in self.measured()["results"]])
        for body, sentence in (
            ("sys.exit(77)", "not possible here: no error message"),
            ("os.kill(os.getpid(), 11)", "it was ended by"),
            ("events = events[:1]", "reports no kernel's time"),
            ("events = []", "does not begin with the program"),
            ('options["--measurements"] = "elsewhere"', "cannot be read"),
        ):
            self.write_program(body)
            done = self.bench()
            with self.subTest(body):
                self.assert_status(1, done)
                self.assertIn(sentence, done.stderr)
                self.assertIn("nothing was measured", done.stderr)

    def test_a_step_that_fails_in_a_later_round_leaves_nothing(self):
        self.write_program(
            'if step == "first" and open(os.environ["FAKE_LOG"]).read().count("first") > 1:\n'
            "    sys.exit(1)"
        )
        self.assert_status(0, self.bench("--json", str(self.file)))
        self.assertEqual(["second"], [row["step"] for row in self.measured()["results"]])

    def test_a_step_that_measures_no_kernel_takes_no_other_along(self):
        self.write_program('if step == "first": del events[1:]')
        self.assert_status(0, self.bench("--json", str(self.file)))
        self.assertEqual(["second"], [row["step"] for row in self.measured()["results"]])

    def test_stopped_half_way_it_keeps_exercises_whose_steps_have_all_been_measured(self):
        for calls, rows in ((2, None), (3, ["first", "second"])):
            self.log.unlink(missing_ok=True)
            self.file.unlink(missing_ok=True)
            self.write_program(
                f'if open(os.environ["FAKE_LOG"]).read().count("program --step") == {calls}:\n'
                "    os.kill(os.getppid(), 15)\n"
                "    time.sleep(60)"
            )
            done = self.bench("--json", str(self.file), "--rounds", "2")
            self.assert_status(128 + signal.SIGTERM, done)
            self.assertIn("lab: stopped.", done.stderr)
            with self.subTest(calls):
                self.assertEqual(rows is not None, self.file.exists())
                if rows:
                    self.assertEqual(rows, [row["step"] for row in self.measured()["results"]])
                    self.assertEqual(1, self.measured()["rounds"])
                    self.assertIn("NVIDIA H200", done.stdout)

    def test_stopped_half_way_it_keeps_sizes_that_all_steps_have_been_measured_with(self):
        toml = self.root / "labs/05_shared_memory/1_dot_product/exercise.toml"
        toml.write_text('minutes = 1\nprerequisites = []\nbench = ["--size 1", "--size 2"]\n')
        self.write_program(
            'if open(os.environ["FAKE_LOG"]).read().count("program --size 2") == 2:\n'
            "    os.kill(os.getppid(), 15)\n"
            "    time.sleep(60)"
        )
        done = self.bench("--json", str(self.file), "--rounds", "1")
        self.assert_status(128 + signal.SIGTERM, done)
        rows = [(row["step"], row["arguments"]) for row in self.measured()["results"]]
        self.assertEqual([("first", "--size 1"), ("second", "--size 1")], rows)

    def test_several_kernels_of_one_program(self):
        self.write_program("events = events[:2] + [dict(events[1], ms=[8.0])] + events[2:]")
        self.assert_status(0, self.bench("--json", str(self.file), "--rounds", "1"))
        rows = {row["step"]: row for row in self.measured()["results"]}
        self.assertEqual(["first", "first (2)", "second", "second (2)"], sorted(rows))
        self.assertEqual([8.0], rows["first (2)"]["samples_ms"])
        libraries = [rows[step]["library"] for step in ("first", "first (2)")]
        self.assertEqual(["", "cublasSdot"], libraries)

    def test_a_program_may_name_several_marks(self):
        self.write_program('events.append({"event": "library", "name": "reading", "ms": 0.25})')
        done = self.bench("--json", str(self.file), "--rounds", "1")
        self.assert_status(0, done)
        row = {row["step"]: row for row in self.measured()["results"]}["second"]
        self.assertEqual(("cublasSdot", 0.5), (row["library"], row["library_ms"]))
        self.assertEqual({"reading": 0.25}, row["others"])
        self.assertIn("50 % (cublasSdot), 25 % (reading)", done.stdout)

    def test_mistakes_on_the_command_line(self):
        broken = self.root / "broken.json"
        broken.write_text("{")
        other = self.root / "other.json"
        other.write_text('{"version": 1}')
        nowhere = self.root / "nowhere"
        for arguments, status, sentence in (
            (("--rounds", "0"), 2, "not a number from 1"),
            (("--repeat", "x"), 2, "not a number from 1"),
            (("--jsn", "f"), 2, "--jsn"),
            (("--json", f"{nowhere}/f.json"), 2, f"there is no folder {nowhere}"),
            (("--compare", f"{nowhere}/f.json"), 1, f"cannot read {nowhere}/f.json"),
            (("--compare", str(broken)), 1, "is not a file of `scripts/lab bench --json`"),
            (("--compare", str(other)), 1, "is not a file of `scripts/lab bench --json`"),
        ):
            with self.subTest(arguments):
                done = self.bench(*arguments)
                self.assert_status(status, done)
                self.assertIn(sentence, done.stderr)
                self.assertEqual([], self.programs())
        self.assert_status(2, self.lab("bench", "nonsense"))
        done = self.lab("bench")
        self.assert_status(2, done)
        self.assertIn("no exercise.toml has a list `bench`", done.stderr)

    def test_comparing(self):
        self.assert_status(0, self.bench("--json", str(self.file)))
        done = self.bench("--compare", str(self.file))
        self.assert_status(0, done)
        self.assertIn("2 of 2 are the same.", done.stdout)
        self.write_program('ms[:] = [{"first": 1.5, "second": 1.5}[step]] * repeat')
        done = self.bench("--compare", str(self.file))
        self.assert_status(1, done)
        for line in (
            "faster   05.1_dot_product first: 2 ms before, 1.5 ms now (-25.0 %)\n",
            "slower   05.1_dot_product second: 1 ms before, 1.5 ms now (+50.0 %)\n",
            "0 of 2 are the same.",
        ):
            self.assertIn(line, done.stdout)
        data = self.measured()
        data["device"] = "NVIDIA H100"
        self.file.write_text(json.dumps(data))
        done = self.bench("--compare", str(self.file))
        self.assert_status(1, done)
        self.assertIn("was measured on NVIDIA H100, and this is NVIDIA H200", done.stderr)

    def test_a_run_that_is_stopped_leaves_no_file(self):
        self.file.write_text("old")
        self.write_program("time.sleep(60) if repeat > 1 else None")
        process = subprocess.Popen(
            [str(self.root / "scripts/lab"), "bench", "05.1", "--json", str(self.file)],
            env={**self.env, "TMPDIR": self.temporary.name},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        limit = time.monotonic() + 30
        while len(self.programs()) < 2 and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        self.assertEqual(130, process.returncode, error)
        self.assertEqual("old", self.file.read_text())
        self.assertEqual([], list(self.root.glob(".new.json*")))
        self.assertEqual([], [x for x in os.listdir(self.temporary.name) if "lab-bench" in x])


def result(step: str = "first", samples: Any = (2.0,), **more: Any) -> Result:
    exercise = more.pop("exercise", "05.1_dot_product")
    return Result(exercise, step, more.pop("arguments", ""), list(samples), **more)


def report(*results: Result, **more: Any) -> Report:
    about = {"cpu_device": False, "driver": "580.95", "cuda": "13.0", "commit": "abc"}
    about.update(device="NVIDIA H200", date="2026-11-22T20:00:00Z", rounds=3)
    return Report(**{**about, **more}, results=list(results))


class RuleTest(unittest.TestCase):
    def verdict(self, old: List[float], new: List[float]) -> str:
        return benchmarks.compare(result(samples=old), result(samples=new))

    def test_what_counts_as_different(self):
        for old, new, wanted in (
            ([100, 100, 100], [100, 100, 100], "the same"),
            ([100, 100, 100], [97, 97, 97], "faster"),
            ([100, 100, 100], [103, 103, 103], "slower"),
            ([100, 100, 100], [98.5, 98.5, 98.5], "the same"),  # less than 2 %
            ([100, 100, 100], [101.5, 101.5, 101.5], "the same"),
            ([90, 100, 110], [80, 90, 100], "the same"),  # the ranges overlap
            ([90, 100, 110], [100, 110, 120], "the same"),
            ([90, 100, 110], [70, 80, 85], "faster"),
            ([90, 100, 110], [115, 120, 130], "slower"),
            ([100, 100, 100, 100, 900], [50, 50, 50, 50, 900], "faster"),  # one outlier
        ):
            with self.subTest(old=old, new=new):
                self.assertEqual(wanted, self.verdict(old, new))

    def test_what_is_new_and_what_is_missing(self):
        old = report(result("a"), result("b"), Result("06.5_x", "a", "", [1.0]))
        lines, slower = benchmarks.comparison(old, report(result("a"), result("c")))
        self.assertFalse(slower)
        self.assertEqual(["new      05.1_dot_product c", "missing  05.1_dot_product b"], lines[:-1])
        self.assertTrue(lines[-1].startswith("1 of 2 are the same. A time counts as different if"))

    def test_quartiles_and_rates(self):
        one = result(samples=[4, 1, 3, 2, 5], items=6e6, item_name="FLOP", bytes=3e6, limit=2e9)
        self.assertEqual((3, (2, 4)), (one.median_ms, one.quartiles_ms))
        self.assertEqual((2e9, "FLOP/s", 0.5), (one.rate, one.unit, one.of_limit))
        self.assertIsNone(one.of_library)
        alone = result(samples=[7])
        self.assertEqual((7, (7, 7)), (alone.median_ms, alone.quartiles_ms))

    def test_units(self):
        for value, unit, wanted in (
            (4.29e12, "B/s", "4290 GB/s"),
            (44.6e12, "FLOP/s", "44.6 TFLOP/s"),
            (15.6e9, "pairs/s", "15.6 G pairs/s"),
            (5, "pairs/s", "5 pairs/s"),
        ):
            self.assertEqual(wanted, benchmarks.short(value, unit))

    def test_files_that_are_refused(self):
        for change, sentence in (
            ({"version": 2}, "version 2 of the format"),
            ({"device": None, "results": 3}, "is not a file"),
            ({"results": [{"exercise": "x"}]}, "is not a file"),
            ({"results": [{**vars(result()), "samples_ms": []}]}, "has no samples"),
            ({"results": [{**vars(result()), "samples_ms": [0]}]}, "has no samples"),
        ):
            data = {**json.loads(report(result()).text()), **change}
            path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "x.json"
            path.write_text(json.dumps(data))
            with self.subTest(change), self.assertRaisesRegex(LabError, sentence):
                benchmarks.read(path)


class ChartTest(unittest.TestCase):
    def charts(self, *results: Result) -> List[str]:
        drawn = charts.pictures("x", "05.1_dot_product", results, report(*results))
        texts = [picture.standalone() for picture in drawn]
        for text in texts:
            xml.etree.ElementTree.fromstring(text)
        return texts

    def elements(self, text: str, tag: str, kind: str) -> List[Any]:
        found = xml.etree.ElementTree.fromstring(text).iter()
        return [e for e in found if e.tag.endswith(tag) and kind in e.get("class", "").split()]

    def test_a_bar_a_step_in_the_order_of_the_results_and_one_for_the_library(self):
        (ladder,) = self.charts(
            result("slow", [2.0], bytes=1e9, limit=2e12, library="L<b", library_ms=0.8),
            result("fast", [1.0], bytes=1e9, limit=2e12, library="L<b", library_ms=0.7),
        )
        slow, fast = (float(bar.get("width")) for bar in self.elements(ladder, "rect", "blue"))
        (library,) = (float(bar.get("width")) for bar in self.elements(ladder, "rect", "panel"))
        self.assertAlmostEqual(2 * slow, fast, delta=0.2)
        self.assertAlmostEqual(fast / 0.7, library, delta=0.2)  # its best time
        for word in ("500 GB/s, 25 %", "1000 GB/s, 50 %", "copy in device memory: 2000 GB/s"):
            self.assertIn(word, ladder)
        places = [ladder.index(f">{name}</text>") for name in ("slow", "fast", "L&lt;b")]
        self.assertEqual(sorted(places), places)

    def test_no_chart_leaves_a_step_out(self):
        self.assertEqual([], self.charts(result("a", bytes=1e9), result("b")))

    def test_it_says_where_when_and_from_what(self):
        (ladder,) = self.charts(result("a", bytes=1e9))
        self.assertIn(">NVIDIA H200, CUDA 13.0, 2026-11-22, commit abc; medians</text>", ladder)
        self.assertIn("a 500 GB/s. Measured on NVIDIA H200", ladder)  # for who cannot see it
        self.assertNotIn("copy in device memory", ladder)

    def test_the_ladder_is_of_the_largest_size_and_the_sweep_of_all(self):
        ladder, sweep = self.charts(
            *(result("a", [n], bytes=n * 1e9, arguments=f"--size {n}M") for n in (1, 4, 16)),
            *(result("b", [n / 2], bytes=n * 1e9, arguments=f"--size {n}M") for n in (1, 4)),
        )
        self.assertIn(">05.1 dot_product: each step, --size 16M</text>", ladder)
        self.assertEqual(1, len(self.elements(ladder, "rect", "blue")))
        circles = self.elements(sweep, "circle", "blue")
        squares = self.elements(sweep, "rect", "orange")
        # One for each point, and one beside the line's name.
        self.assertEqual((3 + 1, 2 + 1), (len(circles), len(squares)))
        across = [float(circle.get("cx")) for circle in circles]
        self.assertEqual(sorted(across), across)
        self.assertLess(float(squares[0].get("y")), float(circles[0].get("cy")))  # faster: higher
        for word in (">1M</text>", ">4M</text>", ">16M</text>", ">--size</text>"):
            self.assertIn(word, sweep)

    def test_what_more_devices_bring_is_a_chart_of_its_own(self):
        ladder, scaling = self.charts(
            *(
                result(step, [ms], items=1e9, item_name="cells", arguments=f"--devices {n}")
                for step, times in (("a", {1: 4, 2: 2, 4: 2}), ("b", {1: 6, 2: 4}))
                for n, ms in times.items()
            ),
            result("c", [1], items=1e9, item_name="cells", arguments="--devices 2"),
        )
        self.assertIn(">05.1 dot_product: each step", ladder)
        self.assertIn("a: 2.00 on 2, 2.00 on 4; b: 1.50 on 2. Measured on", scaling)
        circles = [float(e.get("cy")) for e in self.elements(scaling, "circle", "blue")]
        self.assertEqual(3 + 1, len(circles))
        self.assertGreater(circles[0], circles[1])  # two devices: higher up
        self.assertEqual(circles[1], circles[2])
        self.assertNotIn(">c</text>", scaling)  # never measured on one

    def test_a_size_that_all_lines_have_is_said_once(self):
        rows = [
            result(
                step,
                [4.0 / n],
                items=1e9,
                item_name="cells",
                arguments=f"--size 256M --devices {n}",
            )
            for step in ("a", "b")
            for n in (1, 2)
        ]
        scaling = self.charts(*rows)[-1]
        self.assertIn(">devices, --size 256M</text>", scaling)
        self.assertNotIn(">a, --size 256M</text>", scaling)
        self.assertIn(">a</text>", scaling)

    def test_one_number_of_devices_is_no_scaling(self):
        charts = self.charts(
            result("a", items=1e9, item_name="cells", arguments="--devices 1"),
            result("b", items=1e9, item_name="cells", arguments="--devices 2"),
        )
        self.assertNotIn("more devices", "".join(charts))

    def test_no_words_run_out_of_it_at_the_left(self):
        charts = self.charts(
            *(
                result(
                    step,
                    [n / speed],
                    items=n * 5e9,
                    item_name="pairs",
                    bytes=n * 1e9,
                    limit=1e12,
                    arguments=f"--size {n}M",
                )
                for n in (1, 4)
                for step, speed in (("one", 1), ("many_at_once", 9))
            )
        )
        self.assertEqual(2, len(charts))
        for chart in charts:
            for text in self.elements(chart, "text", "small"):
                width = 7.9 * len(text.text) if text.get("text-anchor") == "end" else 0
                self.assertGreater(float(text.get("x")), width, text.text)

    def test_data_of_other_kinds_are_lines_of_their_own(self):
        ladder, sweep = self.charts(
            *(
                result("a", [ms], bytes=n * 1e9, arguments=f"--size {n}M{kind}")
                for n in (1, 4)
                for ms, kind in ((1.0, ""), (2.0, " --data sorted"))
            )
        )
        self.assertEqual(2, len(self.elements(ladder, "rect", "blue")))
        for text in (ladder, sweep):
            self.assertIn(">a, --data sorted</text>", text)

    def test_options_with_a_number_that_change_no_work_are_bars_of_their_own(self):
        (ladder,) = self.charts(
            *(
                result(step, [ms * tile], bytes=1e9, arguments=f"--size 4M --tile {tile}")
                for tile in (1, 8)
                for step, ms in (("a", 2.0), ("b", 1.0))
            )
        )
        self.assertIn(">05.1 dot_product: each step, --size 4M</text>", ladder)
        bars = ("a, --tile 1", "b, --tile 1", "a, --tile 8", "b, --tile 8")
        places = [ladder.index(f">{bar}</text>") for bar in bars]
        self.assertEqual(sorted(places), places)
        rates = ("500 GB/s", "1000 GB/s", "62.5 GB/s", "125 GB/s")
        drawn = "; ".join(f"{bar} {rate}" for bar, rate in zip(bars, rates))
        self.assertIn(f"{drawn}. Measured", ladder)

    def test_steps_that_move_more_bytes_are_compared_at_the_same_size(self):
        ladder, sweep = self.charts(
            *(
                result(
                    step, [n], bytes=n * each, arguments=f"--size {n}M", library="L", library_ms=n
                )
                for n in (1, 4)
                for step, each in (("a", 1e9), ("b", 1.5e9))
            )
        )
        _, more = self.elements(ladder, "rect", "blue")
        (library,) = self.elements(ladder, "rect", "panel")
        self.assertEqual(more.get("width"), library.get("width"))
        for word in ("1000 GB/s", "1500 GB/s"):
            self.assertIn(word, ladder)
        across = [float(circle.get("cx")) for circle in self.elements(sweep, "circle", "blue")]
        beside = [float(square.get("x")) + 4 for square in self.elements(sweep, "rect", "orange")]
        self.assertEqual(across, beside)

    def test_names_of_lines_that_end_together_are_apart(self):
        sizes = [("--size 1M", 1e9), ("--size 2M", 2e9)]
        _, sweep = self.charts(
            *(
                result(f"step{i}", [1.0], bytes=work, arguments=arguments)
                for arguments, work in sizes
                for i in range(30)
            )
        )
        names = [e for e in self.elements(sweep, "text", "small") if e.text.startswith("step")]
        places = sorted(float(name.get("y")) for name in names)
        self.assertEqual(30, len(names))
        self.assertGreaterEqual(min(b - a for a, b in zip(places, places[1:])), 16.8)
        self.assertGreater(places[0], 40)  # below the heading
        height = float(xml.etree.ElementTree.fromstring(sweep).get("height"))
        self.assertLess(places[-1], height - 60)

    def test_several_options_for_a_size_are_named_together(self):
        _, sweep = self.charts(
            *(
                result("a", items=n * n, item_name="cells", arguments=f"--width {n} --height {n}")
                for n in (1024, 4096)
            )
        )
        for word in (
            *(">1024 × 1024</text>", ">4096 × 4096</text>", ">--width × --height</text>"),
            ">M cells/s</text>",
        ):
            self.assertIn(word, sweep)

    def test_all_numbers_of_a_chart_have_one_unit(self):
        results = [
            result(step, [1.0], items=items, item_name="keys", arguments=f"--size {n}M")
            for n in (1, 4)
            for step, items in (("slow", n * 1e6), ("fast", n * 1e10))
        ]
        ladder, sweep = self.charts(*results)
        for word in (">0.004 T keys/s</text>", ">40 T keys/s</text>"):
            self.assertIn(word, ladder)
        self.assertIn(">T keys/s</text>", sweep)
        self.assertNotIn("G keys/s", ladder + sweep)
        rates = [row[4] for row in benchmarks.rows(results, cpu_device=False)]
        self.assertEqual({"T keys/s"}, {rate.partition(" ")[2] for rate in rates})

    def test_a_copy_is_a_line_only_if_it_is_the_same_for_all_steps(self):
        for more, line in ((1, True), (2, False)):
            (ladder,) = self.charts(
                result("a", [2.0], items=1e9, item_name="keys", bytes=4e9, limit=3e12),
                result("b", [2.0], items=1e9, item_name="keys", bytes=more * 4e9, limit=3e12),
            )
            with self.subTest(more):
                dashed = self.elements(ladder, "path", "dashed")
                self.assertEqual(line, bool(dashed))
                beside = ">copy in device memory: 750 G keys/s, 100 %</text>"
                below = ">%: of a copy of as many bytes in device memory</text>"
                self.assertEqual((line, not line), (beside in ladder, below in ladder))

    def test_a_copy_that_is_no_limit_of_all_steps_is_no_line(self):
        """As on two devices, which are faster than a copy on one."""
        (ladder,) = self.charts(
            result("a", [2.0], bytes=4e9, limit=3e12), result("b", [1.0], bytes=4e9)
        )
        self.assertEqual([], self.elements(ladder, "path", "dashed"))
        self.assertIn(">%: of a copy in device memory, which reaches 3000 GB/s</text>", ladder)

    def test_a_copy_that_is_far_faster_does_not_make_the_bars_hairlines(self):
        for limit, line in ((5.9e12, True), (7e12, False)):
            ladder, sweep = self.charts(
                *(
                    result("a", [n], bytes=n * 2e9, limit=limit, arguments=f"--size {n}M")
                    for n in (1, 4)
                )
            )
            with self.subTest(limit):
                for chart in (ladder, sweep):
                    self.assertEqual(line, bool(self.elements(chart, "path", "dashed")))
                (bar,) = self.elements(ladder, "rect", "blue")
                self.assertGreater(float(bar.get("width")), 100)

    def test_an_axis_is_logarithmic_where_a_line_spans_much(self):
        for most, logarithmic in ((19e9, False), (40e9, True)):
            _, sweep = self.charts(
                *(
                    result("a", [1.0], bytes=work, arguments=f"--size {n}M")
                    for n, work in ((1, 1e9), (4, 4e9), (16, most))
                )
            )
            with self.subTest(most):
                words = "on a logarithmic scale" in sweep
                self.assertEqual(logarithmic, words)
                self.assertEqual(not logarithmic, ">0</text>" in sweep)

    def test_what_was_measured_at_one_size_is_no_line(self):
        _, sweep = self.charts(
            *(result("a", [1.0], bytes=n * 1e9, arguments=f"--size {n}M") for n in (1, 4)),
            result(
                "a", [2.0], bytes=4e9, arguments="--size 4M --load 0.9", library="L", library_ms=0.5
            ),
        )
        self.assertNotIn("--load", sweep)

    def test_without_rates_there_is_no_chart(self):
        self.assertEqual([], self.charts(result()))


class PageTest(LabTest):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.root / "docs/benchmarks"
        self.folder.mkdir(parents=True)

    def test_without_files(self):
        self.assertEqual(["docs/benchmarks.md"], benchmark_page.write(self.root))
        self.assertIn("Nothing has been measured", (self.root / "docs/benchmarks.md").read_text())

    def test_tables_and_charts(self):
        made_up = report(
            result("static", [2.0, 2.0], bytes=1e9, limit=2e12, library="L|b", library_ms=0.5),
            clocks={"memory, MHz": [3201, 3201]},
        )
        (self.folder / "h200.json").write_text(made_up.text())
        self.assert_status(0, self.lab("dev", "benchmarks"))
        contents = (self.root / "docs/benchmarks.md").read_text()
        link = "[05.1 dot_product](benchmarks/part_i.md#051-dot_product-figures)"
        self.assertIn(f"| {link} | 2026-11-22 |\n", contents)
        self.assertIn("| exercise | NVIDIA H200 |\n", contents)
        page = (self.root / "docs/benchmarks/part_i.md").read_text()
        for line in (
            "## 05.1 dot_product: figures\n",
            "**NVIDIA H200, 2026-11-22.** CUDA 13.0; driver 580.95; commit `abc`; 3 rounds;"
            " memory, MHz: 3201 to 3201; `h200.json`.\n",
            "| static | default | 2 | 2 to 2 | 500 GB/s | 25 % | 25 % (L b) |\n",
            "(../images/benchmarks/h200_05.1_dot_product_ladder.svg)\n",
        ):
            self.assertIn(line, page)
        chart = self.root / "docs/images/benchmarks/h200_05.1_dot_product_ladder.svg"
        self.assertTrue(chart.is_file())
        self.assertEqual([], benchmark_page.stale(self.root))
        (self.root / "docs/benchmarks.md").write_text(contents + "more")
        self.assertEqual(["docs/benchmarks.md"], benchmark_page.stale(self.root))
        (self.folder / "h200.json").unlink()
        done = self.lab("dev", "benchmarks")
        for gone in (chart, self.folder / "part_i.md"):
            self.assertIn(f"removed: {gone.relative_to(self.root)}", done.stdout)
            self.assertFalse(gone.exists())

    def test_the_order_is_that_of_the_course_and_the_newest_run_comes_first(self):
        (self.root / "docs/16_warps.md").write_text("# 16\n\n## 16.1 warp_sum\n")
        for name, date, ran in (
            ("a", "2025-01-01", ["16.1_warp_sum", "05.2_y"]),
            ("b", "2026-01-01", ["05.2_y", "05.1_x"]),
        ):
            results = [result(bytes=1e9, exercise=exercise) for exercise in ran]
            (self.folder / f"{name}.json").write_text(report(*results, date=date).text())
        benchmark_page.write(self.root)
        one, two = ((self.folder / f"part_{part}.md").read_text() for part in ("i", "ii"))
        heads = re.findall(r"^(?:#+ .*|\*\*.*?\*\*)", one, re.MULTILINE)
        new, old = "**NVIDIA H200, 2026-01-01.**", "**NVIDIA H200, 2025-01-01.**"
        wanted = ["# Benchmarks: Part I", "## 05.1 x: figures", new, "## 05.2 y: figures", new, old]
        self.assertEqual(wanted, heads)
        tables = [run.count("\n| --- |") for run in one.split("\n**")]
        self.assertEqual([0, 1, 1, 1], tables, "one run a table")
        link = "[In the chapter](../16_warps.md#161-warp_sum)"
        self.assertIn(f"\n## 16.1 warp_sum: figures\n\n{link}\n", two)

    def test_the_chapter_shows_the_newest_charts_of_its_exercise(self):
        chapter = self.root / "docs/05_shared_memory.md"
        chapter.write_text("# 05\n\n## 05.1 dot_product\n\nText.\n\n## 05.2 x\n\nMore.\n")
        before = chapter.read_text()
        for name, date in (("old", "2025-01-01"), ("new", "2026-01-01"), ("other", "2025-06-01")):
            made_up = report(result(bytes=1e9), date=date)
            (self.folder / f"{name}.json").write_text(made_up.text())
        self.assertIn("docs/05_shared_memory.md", benchmark_page.stale(self.root))
        benchmark_page.write(self.root)
        text = chapter.read_text()
        section, _, after = text.partition("## 05.2 x")
        self.assertIn("(images/benchmarks/new_05.1_dot_product_ladder.svg)\n", section)
        self.assertNotIn("images/benchmarks", after)
        self.assertNotIn("old_05.1", text)
        link = "[All figures](benchmarks/part_i.md#051-dot_product-figures)"
        self.assertIn(f"2026-01-01, commit `abc`. {link}.", text)
        self.assertEqual([], benchmark_page.stale(self.root))

        begin, end = text.index(benchmark_page.BEGIN), text.index(benchmark_page.END)
        block = text[begin : end + len(benchmark_page.END)]
        moved = before.replace("Text.", f"{block}\n\nText.")
        chapter.write_text(moved)
        self.assertEqual([], benchmark_page.stale(self.root), "where they are is free")
        chapter.write_text(moved.replace("medians", "").replace("Measured on", "Read in"))
        self.assertEqual(["docs/05_shared_memory.md"], benchmark_page.stale(self.root))

        for file in self.folder.glob("*.json"):
            file.unlink()
        benchmark_page.write(self.root)
        self.assertEqual(before, chapter.read_text())

    def test_the_contents_have_a_column_for_each_device(self):
        for name, device in (("a", "NVIDIA H200"), ("b", "NVIDIA H100")):
            made_up = report(result(bytes=1e9), device=device)
            (self.folder / f"{name}.json").write_text(made_up.text())
        row = "21.1 roofline](benchmarks/part_ii.md#211-roofline-figures)"
        head = "kernel,operations,bytes,operations/byte,limit,most GFLOP/s,GFLOP/s,ms,share\n"
        (self.folder / "h200_roofline.csv").write_text(
            f"# 2 NVIDIA H200, CUDA 13.0, 2026-11-26: 21.1\n{head}"
            "03.1 vectorized,2,24,0.08,memory,240,230,1,1\n5.1 x,2,24,0.1,memory,240,230,1,1\n"
        )
        benchmark_page.write(self.root)
        contents = (self.root / "docs/benchmarks.md").read_text()
        self.assertIn("| exercise | NVIDIA H100 | NVIDIA H200 |\n", contents)
        self.assertIn("| 2026-11-22 | 2026-11-22 |\n", contents)
        self.assertIn(f"[{row} |  | 2026-11-26 (plot) |\n", contents)
        page = (self.folder / "part_ii.md").read_text()
        said = "**2 NVIDIA H200, CUDA 13.0, 2026-11-26.** `h200_roofline.csv`.\n"
        self.assertIn(said, page)

    def metadata(self, lines: str) -> Path:
        (folder,) = (self.root / "labs").glob("05_*/1_*")
        (folder / "exercise.toml").write_text(f"minutes = 9\nprerequisites = []\n{lines}\n")
        return folder

    def test_kernels_that_a_program_measures_have_names(self):
        self.metadata('kernels = ["insert", "find"]')
        made_up = report(*(result(step, bytes=1e9) for step in ("a", "a (2)", "a (3)")))
        (self.folder / "h200.json").write_text(made_up.text())
        benchmark_page.write(self.root)
        page = (self.folder / "part_i.md").read_text()
        steps = re.findall(r"^\| (a\S*(?: \S+)?) \|", page, re.MULTILINE)
        self.assertEqual(["a: insert", "a: find", "a (3)"], steps)

    def test_steps_that_must_not_be_compared_are_no_bars(self):
        self.metadata("compared = false")
        sizes = ("--size 1M", 1e9), ("--size 2M", 2e9)
        made_up = report(*(result(bytes=work, arguments=size) for size, work in sizes))
        (self.folder / "h200.json").write_text(made_up.text())
        benchmark_page.write(self.root)
        names = [path.name for path in (self.root / "docs/images/benchmarks").iterdir()]
        self.assertEqual(["h200_05.1_dot_product_sweep.svg"], names)

    def test_a_step_without_figures_needs_a_reason(self):
        folder = self.metadata("")
        program = '{"first", step::first, ""}, {"second", lab::x::step::second_step, ""}'
        (folder / "main.cpp").write_text(program)
        (self.folder / "h200.json").write_text(report(result("first", bytes=1e9)).text())
        with self.assertRaisesRegex(LabError, "05.1_dot_product: .* no figures of `second`"):
            benchmark_page.write(self.root)
        self.metadata('figures = "`second` is not measured: it never ends."')
        benchmark_page.write(self.root)
        self.assertIn("it never ends", (self.folder / "part_i.md").read_text())
        newer = report(result("first", bytes=1e9), result("second", bytes=1e9), date="2027-01-01")
        (self.folder / "new.json").write_text(newer.text())
        benchmark_page.write(self.root)
        new, old = (self.folder / "part_i.md").read_text().split("**NVIDIA H200, ")[1:]
        self.assertIn("This run is older than `second`.", old)
        self.assertNotIn("older", new)

    def test_a_table_in_a_chapter_is_filled_in(self):
        begin = "<!-- Figures: 05.1, h200.json, {} -->\n"
        chapter = self.root / "docs/05_shared_memory.md"
        body = "".join(
            f"{begin.format(what)}old\n<!-- Figures end. -->\n\n"
            for what in ("size 2M", "rates by size", "ms by size")
        )
        chapter.write_text(f"# 05\n\n## 05.1 dot_product\n\n{body}")
        more = {"limit": 4e12, "library": "L", "library_ms": 1.0}
        (self.folder / "h200.json").write_text(
            report(
                result("a", bytes=1e9, arguments="--size 1M", limit=4e12),
                result("a", bytes=2e9, arguments="--size 2M", **more),
                result("b", [1.0], bytes=2e9, arguments="--size 2M", **more),
            ).text()
        )
        self.assertIn("docs/05_shared_memory.md", benchmark_page.stale(self.root))
        benchmark_page.write(self.root)
        text = chapter.read_text()
        for line in (
            "| step | ms | GB/s | of a copy | of L |\n",
            "| `a` | 2 | 1000 | 25 % | 50 % |\n",
            "| `b` | 1 | 2000 | 50 % | 100 % |\n\n*Measured on: NVIDIA H200, 2026-11-22.*\n",
            "| step | `--size 1M` | `--size 2M` |\n",
            "| `a` | 500 | 1000 (50 %) |\n",
            "| `b` |  | 2000 (100 %) |\n| L |  | 2000 |\n",
            "| `b` |  | 1 (100 %) |\n| L |  | 1 |\n",
        ):
            self.assertIn(line, text)
        self.assertEqual([], benchmark_page.stale(self.root))
        self.assertEqual([], benchmark_page.by_hand(self.root))
        for wrong in (
            "05.1, h100.json, size 2M",
            "05.1, h200.json, size 9M",
            "05.1, h200.json, --size 2M",
        ):
            chapter.write_text(f"<!-- Figures: {wrong} -->\n<!-- Figures end. -->\n")
            with self.subTest(wrong), self.assertRaisesRegex(LabError, ":1: .* has no figures"):
                benchmark_page.write(self.root)

    def test_a_table_by_hand_needs_a_reason(self):
        chapter = self.root / "docs/05_shared_memory.md"
        (self.folder / "h200.json").write_text(report(result("static", bytes=1e9)).text())
        benchmark_page.write(self.root)
        for found, before, table in (
            (1, "", "| step | ms |\n|---|---|\n| `static` | 13.8 |"),
            (1, "", "| step | |\n|---|---|\n| `static`, 32 blocks | 149 GB/s |"),
            (1, "", "| step | of a copy |\n|---|---|\n| `static` | 3 % |"),
            (0, "<!-- Not in docs/benchmarks: another size. -->\n\n", "| `static` | 13.8 ms |"),
            (0, "", "| step | barriers |\n|---|---|\n| `static` | 17 |"),
            (0, "", "| step | ms |\n|---|---|\n| `other` | 13.8 |"),
            (0, "## 05.2 y\n\n", "| step | ms |\n|---|---|\n| `static` | 13.8 |"),
        ):
            chapter.write_text(f"# 05\n\n## 05.1 dot_product\n\n{before}{table}\n")
            with self.subTest(table, before=before):
                self.assertEqual(found, len(benchmark_page.by_hand(self.root)))

    def test_what_the_exercise_says_of_its_figures_stands_beside_them(self):
        note = "`static` is timed with its copies."
        (folder,) = (self.root / "labs").glob("05_*/1_*")
        text = f'minutes = 9\nprerequisites = []\nfigures = "{note}"\n'
        (folder / "exercise.toml").write_text(text)
        chapter = self.root / "docs/05_shared_memory.md"
        chapter.write_text("# 05\n\n## 05.1 dot_product\n\nText.\n")
        (self.folder / "h200.json").write_text(report(result(bytes=1e9)).text())
        benchmark_page.write(self.root)
        self.assertIn(f"\n\n{note}\n\n*Measured on", chapter.read_text())
        self.assertIn(f"\n\n{note}\n\n**NVIDIA", (self.folder / "part_i.md").read_text())

    def plot(self, kind: str, rows: str, first: str = "# NVIDIA H200, 2026-11-26") -> str:
        """The picture of a table."""
        (self.folder / f"h200_{kind}.csv").write_text(f"{first}\n{rows}")
        benchmark_page.write(self.root)
        name = f"images/benchmarks/h200_{kind}.svg"
        pages = (page.read_text() for page in self.folder.glob("*.md"))
        self.assertIn(f"(../{name})", "".join(pages))
        text = (self.root / "docs" / name).read_text()
        xml.etree.ElementTree.fromstring(text)
        return text

    def test_the_plot_of_the_scaling_model(self):
        head = "job,source,ranks,values of a rank,ms,model ms,error %,speed-up,efficiency\n"
        one, two = '"weak, 1 element"', '"weak, 64 elements"'
        text = self.plot(
            "scaling_model",
            f"{head}{two},measured,1,64,2,1.8,-10,1,1\n{two},held back,3,64,4,5,25,1,1\n"
            f"{two},MODEL,16,64,,7.5,,,\n{two},MODEL,64,64,,8,,,\n"
            f"{one},measured,1,64,2,1,-50,1,1\n{one},held back,3,64,4,4.8,20,1,1\n",
        )
        marks = [text.count(f'<{tag} class="area blue"') for tag in ("circle", "rect")]
        self.assertEqual([2, 2], marks, "one is measured and one held back, and both in the key")
        self.assertEqual(1, text.count("dashed thick"), "of the MODEL, beyond what was measured")
        self.assertIn("50 % where it was fitted, 25 % held back", text)
        self.assertNotIn("weak, 1 element", text)

    def test_the_plot_of_the_roofline(self):
        head = "kernel,operations,bytes,operations/byte,limit,most GFLOP/s,GFLOP/s,ms,share\n"
        text = self.plot(
            "roofline",
            f"{head}0 rounds,0,8,0,memory,0,0,1,1\n1 rounds,2,8,0.25,memory,750,740,1,1\n"
            "99 rounds,2,8,64,arithmetic,57000,56000,1,1\n"
            "03.1 vectorized,2,24,0.08,memory,240,230,1,1\n"
            "03.1 vectorized; L1 cache,2,24,0.08,memory,240,230,1,1\n"
            "05.1 not measured,2,24,0.08,memory,240,-,,-\n".replace("-,,-", ",,"),
        )
        self.assertIn("3000 GB/s and 57.0 TFLOP/s, ridge at 19.0", text)
        self.assertEqual(1, text.count(">03.1 vectorized</text>"))
        self.assertNotIn("not measured", text)

    def test_tables_that_are_none_are_refused(self):
        for name, text, sentence in (
            ("x_roofline", "kernel\n", "the first line must be"),
            ("x_roofline", "# H200\nkernel,ms\na,1\n", "is not what the program writes with --csv"),
            ("x", "# H200\na\n", "must end with one of scaling_model, roofline"),
        ):
            file = self.folder / f"{name}.csv"
            file.write_text(text)
            done = self.lab("dev", "benchmarks")
            self.assert_status(1, done)
            self.assertIn(sentence, done.stderr)
            file.unlink()

    def test_times_of_the_cpu_device_are_refused(self):
        (self.folder / "cpu.json").write_text(report(result(), cpu_device=True).text())
        done = self.lab("dev", "benchmarks")
        self.assert_status(1, done)
        self.assertIn("cpu.json was measured on the CPU device", done.stderr)


if __name__ == "__main__":
    unittest.main()
