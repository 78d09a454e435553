# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/lab profile: tables of counters, what is said about them, and ncu's output."""

import importlib.util
import os
import re
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, LabTest, script
from lablib import counters, ncu, profile_page, roofline
from lablib.counters import Row
from lablib.errors import LabError

NAMES = (
    "kernel file line access bytes requests lanes lanes_of_warps sectors ideal_sectors bytes_used"
    " wavefronts ideal_wavefronts turns same_address not_counted"
).split()


def table_text(*rows) -> str:
    return "".join("\t".join(str(cell) for cell in row) + "\n" for row in (NAMES, *rows))


def global_load(requests=10, lanes=320, sectors=40, ideal=40, of=320, used=1280, skipped=0) -> Row:
    return Row("k", "global load", "", 0, 4, requests, lanes, of, sectors, ideal, used,
               not_counted=skipped)  # fmt: skip


class RemarksTest(unittest.TestCase):
    def assert_says(self, pattern: str, row: Row) -> None:
        self.assertRegex("\n".join(counters.remarks(row)), pattern)

    def test_what_costs_no_more_than_it_must_is_passed_over(self):
        self.assertEqual([], counters.remarks(global_load()))
        self.assertEqual([], counters.remarks(global_load(sectors=160, ideal=160)))
        shared = Row("k", "shared load", requests=4, lanes=128, lanes_of_warps=128, wavefronts=8)
        shared.ideal_wavefronts = 8
        self.assertEqual([], counters.remarks(shared))
        atomic = Row("k", "shared atomic", requests=4, lanes=128, lanes_of_warps=128, turns=4)
        self.assertEqual([], counters.remarks(atomic))

    def test_scattered_accesses(self):
        self.assert_says(
            r"32\.0 sectors per request \(best: 4\.0\): .*32 bytes or more apart",
            global_load(sectors=320),
        )
        self.assert_says(
            r"8\.0 sectors per request \(best: 4\.0\): .* 8 bytes apart", global_load(sectors=80)
        )

    def test_a_warp_that_begins_between_sectors(self):
        self.assert_says("do not begin at a multiple of 32 bytes", global_load(sectors=50))

    def test_idle_lanes_and_uncounted_accesses(self):
        self.assert_says(
            r"16\.0 of 32 lanes", global_load(lanes=160, sectors=20, ideal=20, used=640)
        )
        one = global_load(lanes=10, of=10, sectors=10, ideal=10, used=40)
        self.assert_says(r"warps of 1\.0 threads", one)
        self.assert_says("50 % of its accesses are not counted", global_load(skipped=320))
        self.assert_says("none of it was counted", Row("k", "global load", not_counted=3))

    def test_banks_turns_and_constants(self):
        row = Row("k", "shared load", requests=2, lanes=64, lanes_of_warps=64, wavefronts=64)
        row.ideal_wavefronts = 2
        self.assert_says(r"32\.0 wavefronts per request \(best: 1\.0\)", row)
        row = Row("k", "global atomic", requests=2, lanes=64, lanes_of_warps=64, turns=64)
        self.assert_says(r"32\.0 lanes of a request update the same address", row)
        row.access = "shared atomic"
        self.assert_says("update one bank", row)
        row = Row("k", "variable load", requests=2, lanes=64, lanes_of_warps=64, turns=64)
        self.assert_says(r"32\.0 different words per request: constant memory", row)


class TableTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def file(self, text: str) -> Path:
        path = self.folder / "counters"
        path.write_text(text)
        return path

    def test_lines_are_shown_with_their_source(self):
        source = self.folder / "copy.cu"
        source.write_text("a\n  out[i] = in[i * 8];\n")
        load = ("copy<1, 2>", source, 2, "global load", 4, 10, 320, 320, 320, 40, 1280,
                0, 0, 0, 0, 0)  # fmt: skip
        store = ("copy<1, 2>", source, 2, "global store", 4, 1000, 32000, 32000, 4000, 4000, 128000,
                 0, 0, 0, 0, 0)  # fmt: skip
        text = counters.table(counters.read_table(self.file(table_text(load, store))))
        self.assertIn("kernel copy<1, 2>", text)
        self.assertEqual(1, text.count("copy.cu:2: out[i] = in[i * 8];"))
        self.assertRegex(text, r" 10 +32\.0 +global load, 4 B +32\.0 \(4\.0\) sectors, 12 % used\n")
        self.assertRegex(text, r"1,000 +32\.0 +global store, 4 B +4\.0 \(4\.0\) sectors, 100 %")
        self.assertIn("^ 32.0 sectors per request (best: 4.0)", text)
        self.assertNotIn("Nothing stands out", text)

    def test_nothing_to_notice_and_nothing_at_all(self):
        self.assertIn("Nothing stands out", counters.table([global_load()]))
        self.assertIn("No kernel", counters.table(counters.read_table(self.file(table_text()))))
        self.assertIn("No kernel", counters.table(counters.read_table(self.file(""))))

    def test_a_source_that_is_gone_is_no_obstacle(self):
        row = global_load()
        row.file, row.line = "/not/there.cu", 7
        self.assertIn("there.cu:7:", counters.table([row]))

    def test_other_files_are_refused(self):
        for text in ("a\tb\n1\n", "a\tb\n1\t2\n", table_text(["k", "f", "x"] + ["1"] * 13)):
            with self.assertRaisesRegex(LabError, "not a table of counters"):
                counters.read_table(self.file(text))


def addresses(of) -> str:
    """The column `worst`: of(lane) for each lane."""
    return " ".join("-" if of(lane) is None else str(of(lane)) for lane in range(32))


class PageTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.source = self.folder / "k.cu"
        self.source.write_text("a\n  if (a < b && c) out[i] = </code>tile[i];\n")

    def row(self, access: str, size: int, of, **values) -> Row:
        return Row("k<a, b>", access, str(self.source), 2, size, 10, 320, 320,
                   worst=addresses(of), **values)  # fmt: skip

    def page(self, *rows: Row) -> str:
        return profile_page.page(rows, "05.1 <title>", [self.folder])

    def drawn(self, access: str, size: int, of) -> str:
        """The sentence over the drawing."""
        text = self.page(self.row(access, size, of))
        found = re.search("<figcaption>The costliest of 10 requests: (.*)</figcaption>", text)
        self.assertIsNotNone(found, text)
        return found.group(1)

    def test_sectors(self):
        for size, of, sentence in (
            (4, lambda i: 4 * i, "4 sectors, 128 bytes, of which 128 are used."),
            (4, lambda i: 4 + 4 * i, "5 sectors, 160 bytes, of which 128 are used."),
            (4, lambda i: 32 * i, "32 sectors, 1024 bytes, of which 128 are used."),
            (1, lambda i: i, "1 sector, 32 bytes, of which 32 are used."),
            (16, lambda i: 16 * i, "16 sectors, 512 bytes, of which 512 are used."),
            (4, lambda i: 8 if i == 5 else None, "1 sector, 32 bytes, of which 4 are used."),
        ):
            self.assertEqual(sentence, self.drawn("global load", size, of))
        text = self.page(self.row("global load", 4, lambda i: 64 * (i // 2)))
        self.assertEqual(16, text.count('<span class="words"><i class="used">'))
        self.assertEqual(16 * 7, text.count('<i class="unused"></i>'))
        self.assertIn("<li><b>31</b><span>15</span></li>", text)
        self.assertIn(
            '<span class="name">15</span><span class="offset">+960</span>'
            '<span class="words"><i class="used">30–31</i>',
            text,
        )

    def test_banks(self):
        free = "1 wavefront. No bank has to serve two words at a time."
        for size, of, sentence in (
            (4, lambda i: 4 * i, free),
            (4, lambda i: 8, free),
            (4, lambda i: 4 * i * 33, free),
            (4, lambda i: 128 * i, "32 wavefronts, since bank 0 must serve 32 words."),
            (4, lambda i: 8 * i, "2 wavefronts, since bank 0 must serve 2 words."),
            (1, lambda i: i, free),
            (8, lambda i: 8 * i, "2 wavefronts. No bank has to serve two words at a time."),
            (8, lambda i: 16 * i, "4 wavefronts, since bank 0 must serve 2 words."),
            (16, lambda i: 16 * i, "4 wavefronts. No bank has to serve two words at a time."),
        ):
            self.assertEqual(sentence, self.drawn("shared load", size, of))
        text = self.page(self.row("shared store", 4, lambda i: 128 * i + 4 if i else None))
        self.assertEqual(1, text.count('<i class="used">'))
        self.assertEqual(30, text.count('<i class="again">'))
        self.assertEqual(31, text.count('<i class="unused">'))
        self.assertIn('<li class="idle"><b>0</b></li><li><b>1</b><span>1</span></li>', text)

    def test_atomics_and_variables(self):
        self.assertEqual(
            "16 turns at one address; 2 sectors, 64 bytes, of which 8 are used.",
            self.drawn("global atomic", 4, lambda i: 32 * (i % 2)),
        )
        self.assertEqual(
            "32 turns: that many lanes update words of bank 2.",
            self.drawn("shared atomic", 4, lambda i: 8 + 128 * (i % 3)),
        )
        three = self.drawn("variable load", 4, lambda i: 4 * (i % 3))
        self.assertEqual("3 different words.", three)

    def test_sources_and_costs(self):
        row = self.row("global load", 4, lambda i: 32 * i, sectors=320, ideal_sectors=40)
        text = self.page(row)
        self.assertIn("<title>05.1 &lt;title&gt;</title>", text)
        self.assertIn("<code>k&lt;a, b&gt;</code>", text)
        code = "if (a &lt; b &amp;&amp; c) out[i] = &lt;/code&gt;tile[i];"
        self.assertIn(f"<h3>k.cu:2</h3>\n<pre><code>{code}</code></pre>", text)
        self.assertIn('<p class="cost">32.0 (4.0) sectors</p>', text)
        self.assertIn("neighbouring threads access addresses 32 bytes or more apart", text)
        self.assertNotRegex(text, "<script|https?:|@import|url\\(")

    def test_other_files_are_not_drawn(self):
        other = self.row("global load", 4, lambda i: i)
        other.file = "/usr/include/cub.cuh"
        text = self.page(other, self.row("global store", 4, lambda i: i))
        self.assertNotIn("global load", text)
        self.assertIn("1 more accesses are in files that are not this exercise's", text)
        self.assertIn("No kernel of this exercise accessed", self.page(other))

    def test_a_row_without_a_request_has_no_drawing(self):
        row = self.row("global load", 4, lambda i: i)
        for row.worst in ("", "-"):
            self.assertNotIn("<figure>", self.page(row))
        for row.worst in ("1 2", addresses(lambda i: "x")):
            with self.assertRaisesRegex(LabError, "are not the addresses of 32 lanes"):
                self.page(row)


class NcuTest(TableTest):
    LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
    SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

    def test_a_table_with_a_row_for_each_kernel(self):
        rows = ncu.read_csv(
            self.file(
                "==PROF== Connected\n"
                f'"ID","Process ID","Kernel Name","{self.LD}","{self.SECTORS}"\n'
                '"","","","request","sector"\n'
                '"0","7","copy(const float *, float *)","1,024","4,096"\n'
                '"1","7","copy(const float *, float *)","1","4"\n'
            )
        )
        self.assertEqual([Row("copy", "global load", requests=1025, sectors=4100)], rows)

    def test_a_table_with_a_row_for_each_metric(self):
        shared = "l1tex__data_{}_pipe_lsu_mem_shared_op_ld.sum".format
        metrics = {
            "smsp__inst_executed_op_shared_ld.sum": 2,
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 64,
            shared("bank_conflicts"): 62,
            self.LD: 0,
        }
        lines = "".join(
            f'"0","void t<(unsigned int)32>(float *)","{name}","inst","{value}"\n'
            for name, value in metrics.items()
        )
        rows = ncu.read_csv(
            self.file('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n' + lines)
        )
        expected = Row("t<32>", "shared load", requests=2, wavefronts=64, ideal_wavefronts=2)
        self.assertEqual([expected], rows)

    def test_what_ncu_refuses_is_explained(self):
        for text, pattern in (
            ("==ERROR== ERR_NVGPUCTRPERM - the user has no permission\n", "for administrators"),
            ("==ERROR== something else\n", "measured no kernel.*\n==ERROR== something else"),
            ("", "measured no kernel"),
        ):
            with self.assertRaisesRegex(LabError, pattern):
                ncu.read_csv(self.file(text))

    def test_names_of_kernels(self):
        for name, short in (
            ("copy(const float *)", "copy"),
            ("void <unnamed>::copy<(int)32>(const float *, float *)", "copy<32>"),
            ("void (anonymous namespace)::a::t<32, float>(x<int>)", "t<32, float>"),
            ("lab::vector_add::<unnamed>::grid_stride(unsigned long)", "grid_stride"),
            ("void k<x::y>(int)", "k<x::y>"),
        ):
            self.assertEqual(short, ncu.short_kernel(name))


class ComparisonTest(unittest.TestCase):
    def test_equal_and_different_counters(self):
        path = REPOSITORY / "common/cpu_device/benchmarks/compare_counters.py"
        spec = importlib.util.spec_from_file_location("compare_counters", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cpu = [
            Row("t<float, 2>", "global load", "f", 3, 4, requests=4, sectors=16),
            Row("t<float, 2>", "global load", "f", 4, 4, requests=4, sectors=16),
            Row("t<float, 2>", "shared atomic", "f", 4, 4, requests=4, turns=9),
        ]
        gpu = [
            Row("t<float, 2>", "global load", requests=8, sectors=32),
            Row("t<float, 2>", "shared atomic", requests=4, wavefronts=8),
        ]
        lines, wrong = module.compare(cpu, gpu)
        self.assertEqual(0, wrong, lines)
        gpu[0].sectors = 33
        lines, wrong = module.compare(cpu, gpu)
        self.assertEqual(1, wrong, lines)
        self.assertRegex("\n".join(lines), "global load +sectors +32 +33  DIFFERS")
        lines, wrong = module.compare(cpu, gpu[1:])
        self.assertEqual(2, wrong, "what one of them has not measured differs")


class ProfileTest(LabTest):
    def counting_program(self, target: str, end: str = "") -> None:
        row = ("sum", self.lab_file(), 1, "global load", 4, 8, 256, 256, 256, 32, 1024,
               0, 0, 0, 0, 0)  # fmt: skip
        (self.root / "table").write_text(table_text(row))
        self.program(
            target,
            f'echo "got:$*"; cp "{self.root}/table" "${{CPU_DEVICE_COUNTERS:?}}"; {end}',
        )

    def test_the_watched_program_runs_and_its_counters_are_shown(self):
        self.counting_program("watched_lab.05.1")
        done = self.lab("profile", "05.1", "--", "--size", "64")
        self.assert_status(0, done)
        self.assertIn("cmake --preset cpu", self.calls())
        self.assertTrue(done.stdout.startswith("got:--size 64\nkernel sum\n"), done.stdout)
        self.assertIn("dot_product.cu:1: // What this file is about.", done.stdout)
        self.assertIn("32.0 sectors per request (best: 4.0)", done.stdout)

    def test_a_program_says_how_it_was_started(self):
        self.program("watched_lab.05.1", 'echo "$LAB_COMMAND --step NAME"; exit 1')
        done = self.lab("profile", "05.1")
        self.assertIn("scripts/lab profile 05.1 -- --step NAME\n", done.stdout)

    def test_without_arguments_it_runs_with_those_of_its_metadata(self):
        self.counting_program("watched_lab.05.1")
        metadata = self.lab_file().parent / "exercise.toml"
        metadata.write_text('minutes = 30\nprerequisites = []\nprofile = "--size 64K"\n')
        done = self.lab("profile", "05.1")
        self.assertTrue(done.stdout.startswith("got:--size 64K\n"), done.stdout)
        self.assertIn("arguments: --size 64K (enough to count; yours go after --)", done.stderr)
        done = self.lab("profile", "05.1", "--", "--size", "3")
        self.assertTrue(done.stdout.startswith("got:--size 3\n"), done.stdout)

    def test_a_page(self):
        self.counting_program("watched_lab.05.1")
        page = self.root / "new" / "page.html"
        done = self.lab("profile", "05.1", "--html", str(page), "--", "--size", "64")
        self.assert_status(0, done)
        self.assertIn("kernel sum", done.stdout)
        self.assertIn(f"{page} draws it", done.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertIn("<h1>05.1 dot_product: what the memory accesses cost</h1>", text)
        self.assertIn("<h3>dot_product.cu:1</h3>", text)
        (self.root / "file").write_text("")
        done = self.lab("profile", "05.1", "--html", str(self.root / "file" / "page.html"))
        self.assert_status(1, done)
        self.assertRegex(done.stderr, "cannot write .*page.html: (Not a directory|File exists)")

    def test_a_page_needs_the_cpu_device(self):
        self.gpu()
        done = self.lab("profile", "05.1", "--html", "a.html", LAB_DEVICE="gpu")
        self.assert_status(2, done)
        self.assertIn("`scripts/lab profile 05.1 --device cpu --html a.html`", done.stderr)
        self.assertEqual([], self.calls())

    def test_the_solution(self):
        self.counting_program("watched_solution.05.1")
        self.assert_status(0, self.lab("profile", "05.1", "--solution"))

    def test_a_program_that_fails_keeps_its_status(self):
        self.counting_program("watched_lab.05.1", "exit 1")
        done = self.lab("profile", "05.1")
        self.assert_status(1, done)
        self.assertIn("kernel sum", done.stdout)
        self.program("watched_lab.05.1", "exit 2")
        self.assert_status(2, self.lab("profile", "05.1"))
        # Nothing was counted: it has said itself why.
        self.program("watched_lab.05.1", 'echo "no"; : > "${CPU_DEVICE_COUNTERS:?}"; exit 1')
        self.assertEqual("no\n", self.lab("profile", "05.1").stdout)

    def test_a_slow_program_is_told_to_take_less(self):
        self.program("watched_lab.05.1", "sleep 100")
        done = self.lab("profile", "05.1", "--time-limit", "0.3")
        self.assert_status(1, done)
        self.assertRegex(done.stderr, "stopped after 0.3 s.*a small size")

    def test_arguments_without_the_dashes(self):
        done = self.lab("profile", "05.1", "--size", "4")
        self.assert_status(2, done)
        self.assertIn("`scripts/lab profile 05.1 -- --size 4`", done.stderr)

    def gpu(self) -> None:
        script(self.bin / "nvcc", "#!/bin/sh\n")
        script(self.bin / "nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")

    @unittest.skipIf(os.path.exists("/usr/local/cuda/bin/ncu"), "ncu is here")
    def test_without_ncu_it_says_what_to_install(self):
        self.gpu()
        done = self.lab("profile", "05.1", LAB_DEVICE="gpu", PATH=self.env["PATH"])
        self.assert_status(3, done)
        self.assertIn("Nsight Compute was not found", done.stderr)
        self.assertEqual([], self.calls())

    def test_on_a_gpu_ncu_measures(self):
        self.gpu()
        script(
            self.bin / "ncu",
            "#!/bin/sh\n"
            'echo "ncu $*" >> "$FAKE_LOG"\n'
            'while [ "$1" != --log-file ]; do shift; done; log=$2\n'
            'while [ "$1" != --metrics ]; do shift; done; shift 2\n'
            f'printf \'"ID","Kernel Name","{NcuTest.LD}","{NcuTest.SECTORS}"\\n\' > "$log"\n'
            'printf \'"0","sum(int)","8","256"\\n\' >> "$log"\n'
            '"$@"\n',
        )
        self.program("lab.05.1", 'echo "got:$*"')
        done = self.lab("profile", "05.1", "--device", "gpu", "--", "--size", "64")
        self.assert_status(0, done)
        self.assertIn("got:--size 64", done.stdout)
        self.assertRegex(done.stdout, r"kernel sum\n.*\n +8 +global load +32\.0 sectors")
        self.assertRegex(self.calls()[-1], "^ncu --csv .*--metrics l1tex__t_requests")
        self.assertNotIn("dram__bytes", self.calls()[-1])

    def test_kernels_for_the_roofline(self):
        self.counting_program("watched_lab.05.1")
        table = self.root / "rows.csv"
        done = self.lab("profile", "05.1", "--roofline", str(table))
        self.assert_status(0, done)
        self.assertEqual("name,operations,bytes,ms\nsum,0,8192,0\n", table.read_text())
        self.assertIn("counts bytes only", done.stderr)
        self.assertIn(f"--rows {table}", done.stderr)

    def test_kernels_for_the_roofline_of_a_gpu(self):
        self.gpu()
        add, fma = (name for name in roofline.OPERATIONS if name.split("_")[7] in ("fadd", "ffma"))
        names = [NcuTest.SECTORS, add, fma, *roofline.MEMORY, roofline.TIME]
        head = ",".join(f'\\"{name}\\"' for name in ("ID", "Kernel Name", *names))
        script(
            self.bin / "ncu",
            "#!/bin/sh\n"
            'echo "ncu $*" >> "$FAKE_LOG"\n'
            'while [ "$1" != --log-file ]; do shift; done; log=$2\n'
            'while [ "$1" != --metrics ]; do shift; done; shift 2\n'
            f'echo "{head}" > "$log"\n'
            "for i in 0 1; do\n"
            '  echo "\\"$i\\",\\"sum(int)\\",256,1000,30,4096,64,2500000" >> "$log"\n'
            "done\n"
            '"$@"\n',
        )
        self.program("lab.05.1", "exit 0")
        table = self.root / "rows.csv"
        done = self.lab("profile", "05.1", "--device", "gpu", "--roofline", str(table))
        self.assert_status(0, done)
        self.assertEqual(
            "name,operations,bytes,ms\n"
            "sum,2120,8320,5\n"  # 2 launches of 1000 + 2 * 30 operations
            "sum; L1 cache,2120,16384,5\n",
            table.read_text(),
        )
        self.assertIn("--print-units base --clock-control none", self.calls()[-1])
        self.assertNotIn("counts bytes only", done.stderr)


if __name__ == "__main__":
    unittest.main()
