# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Job scripts for Slurm (labs/*/*/*.sbatch): what sbatch reads of them, and what they run."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, script

SCRIPTS = sorted((REPOSITORY / "labs").glob("*/*/*.sbatch"))

# What a value of each option looks like. sbatch refuses other options when the job is submitted,
# which may be on another machine.
OPTIONS = {
    "job-name": r"\w+",
    "nodes": r"[1-9]\d*",
    "ntasks": r"[1-9]\d*",
    "ntasks-per-node": r"[1-9]\d*",
    "cpus-per-task": r"[1-9]\d*",
    "gpus-per-node": r"[1-9]\d*",
    "exclusive": None,
    "time": r"\d\d:[0-5]\d:[0-5]\d",
    "output": r"\w+%j\.out",
}
NEEDED = {"job-name", "nodes", "ntasks", "cpus-per-task", "time", "output"}


def directives(text):
    """The options of a job script, as sbatch reads them: up to the first command."""
    found = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH "):
            option = re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(\S+))?", line)
            if option is None:
                raise ValueError(line)
            found[option[1]] = option[2]
    return found


class JobScriptsTest(unittest.TestCase):
    def test_there_is_one(self):
        self.assertTrue(SCRIPTS)

    def test_bash_can_read_them(self):
        for path in SCRIPTS:
            with self.subTest(path.name):
                self.assertTrue(path.read_text().startswith("#!/bin/bash\n"))
                done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
                self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_they_ask_for_what_slurm_knows(self):
        for path in SCRIPTS:
            with self.subTest(path.name):
                found = directives(path.read_text())
                self.assertEqual(set(), NEEDED - set(found))
                for option, value in found.items():
                    self.assertIn(option, OPTIONS)
                    if OPTIONS[option] is None:
                        self.assertIsNone(value, option)
                    else:
                        self.assertRegex(value or "", f"^{OPTIONS[option]}$", option)

    def test_no_directive_comes_after_a_command(self):
        for path in SCRIPTS:
            with self.subTest(path.name):
                text = path.read_text()
                self.assertEqual(len(re.findall(r"^#SBATCH ", text, re.M)), len(directives(text)))

    def test_they_run_the_exercise_in_the_folder_of_the_course(self):
        for path in SCRIPTS:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                here = Path(folder) / "with a space"
                (here / "scripts").mkdir(parents=True)
                script(
                    here / "scripts/lab",
                    '#!/bin/sh\npwd >said\nprintf "%s\\n" "$@" >>said\nexit 5\n',
                )
                asked = directives(path.read_text())
                environment = {
                    **os.environ,
                    "SLURM_SUBMIT_DIR": str(here),
                    "SLURM_JOB_ID": "77",
                    "SLURM_CPUS_PER_TASK": asked["cpus-per-task"],
                }
                done = subprocess.run(["bash", str(path)], env=environment, capture_output=True)
                self.assertEqual(5, done.returncode, "the job fails if the program does")
                said = (here / "said").read_text().splitlines()
                number = path.parent.parent.name[:2] + "." + path.parent.name.split("_")[0]
                self.assertEqual([str(here), "run", number, "--"], said[:4])
                self.assertEqual(asked["cpus-per-task"], said[said.index("--ranks") + 1])
                self.assertTrue(any("77" in word for word in said), "each job has its own files")

    def test_without_slurm_nothing_runs(self):
        for path in SCRIPTS:
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
                done = subprocess.run(
                    ["bash", str(path)], env=environment, cwd=folder, capture_output=True, text=True
                )
                self.assertNotEqual(0, done.returncode)
                self.assertIn("SLURM_SUBMIT_DIR", done.stderr)


if __name__ == "__main__":
    unittest.main()
