# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Jobs of students on a cluster on this machine: the job script of 20.4, what chapter 20 says of
Slurm, and programs that start ranks inside of a job."""

import csv
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(HERE))

import slurm_cluster  # noqa: E402
from slurm_cluster import wait_until  # noqa: E402

from lablib import export  # noqa: E402
from lablib.errors import NOT_POSSIBLE  # noqa: E402
from lablib.exercises import resolve_one  # noqa: E402

SCRIPT = "labs/20_many_nodes/4_scaling_model/scaling_model.sbatch"
CORES = 8  # as many as the script asks for
# A node that is never started: a job that asks for GPUs, and for no more than it has, waits for it.
GPUS = f"""
GresTypes=gpu
NodeName=gpus NodeAddr=127.0.0.1 Port=1 CPUs={CORES} RealMemory=16000 Gres=gpu:8 State=DOWN
"""
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank = 0, ranks = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on %s: %d\\n", rank, ranks, getenv("SLURMD_NODENAME"), sum);
  MPI_Finalize();
}
"""


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="lab_jobs_")))
        cls.cluster = slurm_cluster.Cluster(folder / "cluster", 2, cores=CORES, more=GPUS)
        # What a student has who has solved the exercise, and built it.
        cls.course = folder / "my course"
        export.student_edition(ROOT, cls.course, export.PARTS)
        cls.place = cls.course / Path(SCRIPT).parent
        cls.starter = (cls.place / "scaling_model.cu").read_text()
        cls.solution = resolve_one(ROOT, "20.4").solution_file.read_text()
        (cls.place / "scaling_model.cu").write_text(cls.solution)
        done = cls.command("scripts/lab", "run", "20.4", "--", "--ranks", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        cls.enterClassContext(cls.cluster)

    @classmethod
    def command(cls, *words):
        return subprocess.run(
            words,
            cwd=cls.course,
            env={
                **cls.cluster.environment,
                "LAB_DEVICE": "cpu",
                "CCACHE_BASEDIR": str(cls.course),  # the next time, the folder has another name
                "CCACHE_NOHASHDIR": "1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def submit(self, *words):
        done = self.command("sbatch", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return re.fullmatch(r"Submitted batch job (\d+)\n", done.stdout)[1]

    def state(self, job):
        return re.search(r"JobState=(\w+)", self.cluster.ask("scontrol", "show", "job", job))[1]

    def finish(self, job):
        """The state in the end, and what the job has said."""
        state = wait_until(
            lambda: self.state(job) if self.state(job) in ENDED else None, f"job {job} ends"
        )
        return state, (self.course / f"scaling_model_{job}.out").read_text()

    def measured(self, job):
        """How many ranks were measured, and how many values there were."""
        with open(self.course / f"scaling_model_{job}.csv", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["source"] != "MODEL"]
        alone = next(row for row in rows if row["ranks"] == "1")
        return sorted({int(row["ranks"]) for row in rows}), int(alone["values of a rank"])

    def test_the_script_runs_as_it_is(self):
        job = self.submit(SCRIPT)
        state, said = self.finish(job)
        self.assertEqual(state, "COMPLETED", said)
        self.assertIn("right: every repetition added up what it should", said)
        self.assertEqual(self.measured(job)[0], [1, 2, 3, 4, 6, 8])
        self.assertIn("<svg", (self.course / f"scaling_model_{job}.svg").read_text())

    def test_options_before_the_script_are_the_jobs_and_those_after_it_the_programs(self):
        job = self.submit("--cpus-per-task=4", SCRIPT, "--size", "4096")
        state, said = self.finish(job)
        self.assertEqual(state, "COMPLETED", said)
        self.assertEqual(self.measured(job), ([1, 2, 3, 4], 4096))

    def test_a_job_fails_if_its_program_does(self):
        (self.place / "scaling_model.cu").write_text(self.starter)
        self.addCleanup((self.place / "scaling_model.cu").write_text, self.solution)
        state, said = self.finish(self.submit("--cpus-per-task=2", SCRIPT))
        self.assertEqual(state, "FAILED", said)
        self.assertIn("measure is not written yet: TODO(1)", said)

    def test_the_line_for_gpus_asks_for_what_slurm_knows(self):
        text = (self.course / SCRIPT).read_text()
        self.assertEqual(text.count("\n##SBATCH --gpus"), 1)
        edited = self.place / "edited.sbatch"
        edited.write_text(text.replace("\n##SBATCH --gpus", "\n#SBATCH --gpus"))
        job = self.submit(edited)
        self.addCleanup(self.cluster.ask, "scancel", job)
        said = self.cluster.ask("scontrol", "show", "job", job)
        self.assertIn("gpu:8", said)
        self.assertEqual(self.state(job), "PENDING")
        self.assertNotEqual(self.command("sbatch", "--gpus-per-node=9", edited).returncode, 0)

    def test_ranks_start_inside_of_a_step(self):
        # Slurm has told the program that it is a task; that must not reach its ranks.
        done = self.command(
            *("srun", "--mpi=pmix", "--ntasks=1", "--cpus-per-task=4", "scripts/lab", "run"),
            *("20.4", "--", "--ranks", "3", "--size", "4096"),
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("right: every repetition added up what it should", done.stdout)

    def test_a_program_with_a_main_of_its_own_runs_on_all_nodes_of_a_job(self):
        source = self.course / "program.c"
        source.write_text(PROGRAM)
        done = self.command("mpicc", source, "-o", "program")
        self.assertEqual(done.returncode, 0, done.stderr)
        # These nodes share /dev/shm, which real ones do not: so no messages through it.
        done = self.command(
            *("env", "OMPI_MCA_btl=tcp,self", "srun", "--mpi=pmix", "--nodes=2"),
            *("--ntasks-per-node=2", "./program"),
        )
        self.assertEqual(
            sorted(done.stdout.splitlines()),
            [f"rank {rank} of 4 on n{rank // 2 + 1}: 6" for rank in range(4)],
            done.stderr,
        )


def main():
    if slurm_cluster.why_not():
        print(f"SKIPPED: a cluster is not possible here: {slurm_cluster.why_not()}")
        return NOT_POSSIBLE
    program = unittest.main(sys.modules[__name__], argv=[*sys.argv, "-v"], exit=False)
    return 0 if program.result.testsRun and program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
