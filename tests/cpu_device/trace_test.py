# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
"""CPU_DEVICE_TRACE: what a program does is in the time line once, and the file is whole however the
program ends.

    trace_test.py TRACE_PROGRAM
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

Event = dict[str, Any]
HOST, BLOCKS, DEVICE = 1, 2, 10


def nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


class Trace:
    def __init__(self, text: str) -> None:
        self.whole = json.loads(text)
        events: list[Event] = self.whole["traceEvents"]
        self.events = [e for e in events if e["ph"] != "M"]
        self.names: dict[tuple[int, int], str] = {
            (e["pid"], e["tid"]): e["args"]["name"]
            for e in events
            if e["ph"] == "M" and e["name"] == "thread_name"
        }

    def of(self, category: str) -> list[Event]:
        """In the order of time."""
        found = [e for e in self.events if e.get("cat") == category]
        return sorted(found, key=lambda e: e["ts"])

    def named(self, category: str) -> list[str]:
        return [e["name"] for e in self.of(category)]

    def track(self, event: Event) -> str:
        return self.names[event["pid"], event["tid"]]

    def spans(self) -> list[tuple[tuple[int, int], int, int, str]]:
        """Everything with a begin and an end (nanoseconds) that belongs to a track."""
        found = []
        open_ranges: dict[tuple[int, int], list[Event]] = {}
        for e in self.events:
            where = (e["pid"], e["tid"])
            if e["ph"] == "X":
                begin = nanoseconds(e["ts"])
                found.append((where, begin, begin + nanoseconds(e["dur"]), e["name"]))
            elif e["ph"] == "B":
                open_ranges.setdefault(where, []).append(e)
            elif e["ph"] == "E":
                opened = open_ranges[where].pop()
                times = nanoseconds(opened["ts"]), nanoseconds(e["ts"])
                found.append((where, *times, opened["name"]))
        for where, events in open_ranges.items():
            found += [(where, nanoseconds(e["ts"]), sys.maxsize, e["name"]) for e in events]
        return found


class TraceTest(unittest.TestCase):
    program = ""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "trace.json"

    def run_program(self, task: str, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("CPU_DEVICE_")}
        env.update({"CPU_DEVICE_TRACE": str(self.file), **variables})
        # A crash is the program's, not the sanitizer's.
        env["ASAN_OPTIONS"] = ":".join([*filter(None, [env.get("ASAN_OPTIONS")]), "handle_segv=0"])
        return subprocess.run(
            [self.program, task], env=env, capture_output=True, text=True, errors="replace",
            timeout=100, check=False,
        )  # fmt: skip

    def trace(self, task: str, status: int = 0, **variables: str) -> Trace:
        done = self.run_program(task, **variables)
        self.assertEqual(done.returncode, status, done.stderr)
        trace = Trace(self.file.read_text(encoding="utf-8"))
        self.check_nesting(trace)
        return trace

    def check_nesting(self, trace: Trace) -> None:
        spans = sorted(trace.spans(), key=lambda s: (s[0], s[1], -s[2]))
        around: list[tuple[tuple[int, int], int, int, str]] = []
        for span in spans:
            while around and (around[-1][0] != span[0] or around[-1][2] <= span[1]):
                around.pop()
            if around:
                self.assertLessEqual(span[2], around[-1][2], f"{span} in {around[-1]}")
            around.append(span)

    def test_everything_is_there_once(self) -> None:
        trace = self.trace("each")
        self.assertEqual(trace.named("kernel"), ["reverse"] * 2)
        kernel = trace.of("kernel")[0]
        self.assertEqual(kernel["args"]["grid"], [4, 1, 1])
        self.assertEqual(kernel["args"]["block"], [64, 1, 1])
        self.assertEqual(kernel["args"]["dynamic shared bytes"], 256)
        self.assertRegex(kernel["args"]["launched at"], r"^trace_program\.cu:\d+$")
        copies = [(e["name"], e["args"]["bytes"], e["args"]["by"]) for e in trace.of("copy")]
        self.assertEqual(
            copies,
            [
                ("memset", 4096, "cudaMemset"),
                ("memset", 1024, "cudaMemset"),
                ("copy host to device", 32, "cudaMemcpy"),
                ("copy device to device", 64, "cudaMemcpy"),
                ("copy device to host", 16, "cudaMemcpy"),
            ],
        )
        self.assertEqual(
            trace.named("call"),
            ["cudaMalloc", "cudaMemset", "cudaMemset", "cudaMemcpy", "cudaLaunchKernel"]
            + ["cudaMemcpy", "cudaMemcpy", "cudaLaunchKernel", "cudaFree"],
        )
        self.assertEqual({trace.track(e) for e in trace.of("call")}, {"main thread"})
        self.assertEqual({trace.track(e) for e in trace.of("kernel")}, {"default stream"})
        self.assertEqual(trace.of("block") + trace.of("barrier") + trace.of("work"), [])
        self.assertIn("nothing about a GPU", trace.whole["otherData"]["times"])

    def test_ranges_of_nvtx(self) -> None:
        trace = self.trace("each")
        spans = {name: (begin, end) for _, begin, end, name in trace.spans()}
        outer, inner = spans['outer "range"\n\ufffd'], spans["inner \u00e9\U0001f600"]
        self.assertLess(outer[0], inner[0])
        self.assertLess(inner[1], outer[1])
        launch = next(e for e in trace.of("call") if e["name"] == "cudaLaunchKernel")
        self.assertTrue(inner[0] < nanoseconds(launch["ts"]) < inner[1])
        across = [e for e in trace.of("nvtx") if e["name"] == "across"]
        self.assertEqual([e["ph"] for e in across], ["b", "e"])
        self.assertEqual(across[0]["id"], across[1]["id"])
        first, last = (nanoseconds(e["ts"]) for e in across)
        self.assertTrue(first < outer[1] < last)
        self.assertEqual([e["ph"] for e in trace.events if e.get("name") == "point"], ["i"])

    def test_two_streams_are_two_tracks_in_the_order_in_which_they_ran(self) -> None:
        orders = {
            "eager": ["first"] * 3 + ["second"] * 3,
            "deferred": ["second"] * 3 + ["first"] * 3,
            "interleaved": ["first", "second"] * 3,
        }
        for policy, order in orders.items():
            with self.subTest(policy):
                trace = self.trace("streams", CPU_DEVICE_STREAMS=policy)
                kernels = [e for e in trace.of("kernel") if e["name"] != "reverse"]
                self.assertEqual([e["name"] for e in kernels], order)
                tracks = {(e["name"], trace.track(e)) for e in kernels}
                self.assertEqual(tracks, {("first", "stream A"), ("second", "stream B")})
                submitted = next(e["ts"] for e in trace.of("nvtx") if e["name"] == "all submitted")
                for e in kernels:
                    self.assertEqual(policy == "eager", e["ts"] < submitted)

    def test_a_graph_frames_its_nodes_on_the_stream_that_it_was_launched_on(self) -> None:
        trace = self.trace("graph")
        frame = trace.of("work")[-1]
        self.assertEqual(frame["name"], "cudaGraphLaunch")
        self.assertEqual(trace.track(frame), "default stream")
        inside = [
            e for e in sorted(trace.events, key=lambda e: e["ts"])
            if e["pid"] == DEVICE and frame["ts"] < e["ts"] < frame["ts"] + frame["dur"]
        ]  # fmt: skip
        self.assertEqual([e["name"] for e in inside], ["first", "memset", "second"])
        for e, after in zip(inside, inside[1:]):
            self.assertLess(e["ts"] + e["dur"], after["ts"])

    def test_work_of_a_library_has_its_name(self) -> None:
        trace = self.trace("dot")
        self.assertIn("cublasSdot", trace.named("work"))
        self.assertIn("copy device to host", trace.named("copy"))

    def test_a_failing_call_says_so(self) -> None:
        trace = self.trace("failing_call")
        failed = [e for e in trace.of("call") if e["args"]]
        self.assertEqual([(e["name"], e["args"]) for e in failed], [("cudaMemcpy", {"error": 1})])

    def test_host_threads_have_tracks(self) -> None:
        trace = self.trace("threads")
        begin = next(e for e in trace.of("nvtx") if e["name"] == "of the second thread")
        self.assertEqual(trace.track(begin), "the second thread")
        launches = [e for e in trace.of("call") if e["name"] == "cudaLaunchKernel"]
        self.assertEqual([trace.track(e) for e in launches], ["the second thread", "main thread"])

    def test_blocks_and_barriers_on_request(self) -> None:
        trace = self.trace("blocks", CPU_DEVICE_TRACE_BLOCKS="1")
        wanted = sorted(f"reverse block ({b},0,0)" for b in (0, 1, 2, 3)) * 2
        self.assertEqual(sorted(trace.named("block")), sorted(wanted))
        barriers = trace.of("barrier")
        self.assertEqual(len(barriers), 8)
        for b in barriers:
            self.assertEqual(b["args"], {"of a": "block", "threads": 64})
            self.assertRegex(b["name"], r"^barrier trace_program\.cu:\d+$")
            around = [
                e for e in trace.of("block")
                if e["tid"] == b["tid"] and e["ts"] <= b["ts"] <= e["ts"] + e["dur"]
            ]  # fmt: skip
            self.assertEqual(len(around), 1)
        self.assertEqual({e["pid"] for e in barriers}, {BLOCKS})

    def test_the_file_is_whole_however_the_program_ends(self) -> None:
        for task, status in (
            ("exit", 3), ("quick_exit", 4), ("throw", -6), ("kernel_fault", 5),
            ("host_fault", -11),
        ):  # fmt: skip
            with self.subTest(task):
                trace = self.trace(task, status)
                self.assertEqual(trace.named("kernel")[0], "reverse")
                self.assertIn(("never ends", "B"), [(e["name"], e["ph"]) for e in trace.of("nvtx")])
        fault = self.trace("kernel_fault", 5).of("kernel")[-1]
        self.assertEqual((fault["name"], fault["args"]["error"]), ("follow", 700))

    def test_a_long_run_stays_bounded(self) -> None:
        done = self.run_program("many")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("After 500000 events it leaves out the rest"), 1)
        self.assertLess(self.file.stat().st_size, 100e6)
        trace = Trace(self.file.read_text(encoding="utf-8"))
        begun = [e for e in trace.events if e["ph"] not in "Ee"]
        self.assertEqual(len(begun), 500_001)
        self.assertRegex(begun[-1]["name"], "the trace is full")
        count = {phase: sum(e["ph"] == phase for e in trace.events) for phase in "BE"}
        self.assertEqual(count["B"], count["E"])

    def test_a_file_that_cannot_be_written_is_one_sentence(self) -> None:
        self.file = self.file.parent / "none" / "trace.json"
        done = self.run_program("each")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            done.stderr,
            f"CPU device: CPU_DEVICE_TRACE: cannot write {self.file}: No such file or directory.\n",
        )

    def test_forks(self) -> None:
        done = self.run_program("forks")  # the parent is gone before the first call
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(Trace(self.file.read_text(encoding="utf-8")).named("kernel"), ["reverse"])
        trace = self.trace("forked_later")
        self.assertNotIn("of the child", trace.named("nvtx"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: trace_test.py TRACE_PROGRAM")
    TraceTest.program = sys.argv.pop(1)
    unittest.main()
