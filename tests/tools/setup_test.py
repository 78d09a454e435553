# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""scripts/setup on made-up machines: each has only the tools that a test gives it."""

import os
import pty
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from fakes import REPOSITORY, script

REQUIRED = {
    "g++": "4:12.2.0-3",
    "cmake": "3.25.1-1",
    "ninja-build": "1.11.1-2~deb12u1",
    "python3": "3.11.2-1+b1",
    "libgtest-dev": "1.12.1-0.2",
    "libpng-dev": "1.6.39-2",
    "zlib1g-dev": "1:1.2.13.dfsg-1",
    "binutils": "2.40-2",
}
OPTIONAL = {
    "libglut-dev": "3.4.0-1",
    "libx11-dev": "2:1.8.4-2",
    "libopenblas-dev": "0.3.21+ds-4",
    "libthrust-dev": "1.17.2-2",
    "libgl-dev": "1.6.0-1",
    "libegl-dev": "1.6.0-1",
    "libopenmpi-dev": "4.1.4-3+b1",
    "openmpi-bin": "4.1.4-3+b1",
}
AUTHOR = {
    "git": "1:2.39.5-0",
    "python3-venv": "3.11.2-1+b1",
    "libbenchmark-dev": "1.7.1-1",
    "clang": "1:14.0-55.7",
    "clang-tidy-14": "1:14.0.6-12",
    "shellcheck": "0.9.0-1",
    "wamerican": "2020.12.07-2",
    "ccache": "4.8-1",
    "mold": "1.10.1",
    "bubblewrap": "0.8.0",
    "make": "4.3-4.1",
}
BROWSER = {
    "chromium": "150.0.7871.100-1~deb12u1",
    "chromium-driver": "150.0.7871.100-1~deb12u1",
}
NIGHTLY = {
    "debootstrap": "1.0.128",
    "qemu-user-static": "1:7.2",
    "g++-aarch64-linux-gnu": "4:12.2.0-3",
    "slurmctld": "22.05.8-4+deb12u3",
    "slurmd": "22.05.8-4+deb12u3",
    "iproute2": "6.1.0-3",
}
# `python3 -m venv DIR`: its python remembers what it is asked, and "installs" NVIDIA's packages.
PYTHON = """#!/bin/sh
echo "python3 $*" >> "$TOP/calls"
[ "$1 $2" = "-m venv" ] || exit 9
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!/bin/sh
echo "pip $*" >> "$TOP/calls"
[ -z "$PIP_STATUS" ] || exit "$PIP_STATUS"
case $* in *cuda-toolkit*) ;; *) exit 0 ;; esac
to=${0%/bin/python}/lib/python3.11/site-packages/nvidia/cu13
mkdir -p "$to/bin" "$to/lib"
echo > "$to/lib/libcudart.so.13"
echo > "$to/lib/libcurand.so.10.4"
echo > "$to/bin/nvcc"
chmod +x "$to/bin/nvcc"
END
chmod +x "$3/bin/python"
"""
INSTALL = (
    "apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=120 -o Acquire::Retries=5"
)


class SetupTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        self.bin = self.top / "bin"
        self.bin.mkdir()
        self.log = self.top / "calls"
        self.log.write_text("")
        self.installed = self.top / "installed"
        self.installed.mkdir()
        self.offered = self.top / "offered"
        self.offered.mkdir()
        self.env = {"PATH": str(self.bin), "TOP": str(self.top), "USER_ID": "0"}
        for tool in ("sed", "head", "env", "cat", "sh", "sleep"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        script(self.bin / "id", '#!/bin/sh\necho "$USER_ID"\n')
        # Prints what dpkg-query -W -f '${db:Status-Status} ${Version}\n' does.
        script(
            self.bin / "dpkg-query",
            """#!/bin/sh
[ "$1 $2 $3" = '-W -f ${db:Status-Status} ${Version}\\n' ] || exit 9
[ -f "$TOP/installed/$4" ] || { echo "no packages found matching $4" >&2; exit 1; }
cat "$TOP/installed/$4"
""",
        )
        script(
            self.bin / "apt-cache",
            """#!/bin/sh
if [ -f "$TOP/offered/$2" ]; then
  printf '%s:\\n  Installed: (none)\\n  Candidate: ' "$2"; cat "$TOP/offered/$2"; echo
fi
""",
        )
        script(
            self.bin / "apt-get",
            """#!/bin/sh
echo "apt-get $*; $DEBIAN_FRONTEND" >> "$TOP/calls"
[ "$1" = update ] && exit "${UPDATE_STATUS:-0}"
[ -n "$INSTALL_STATUS" ] && exit "$INSTALL_STATUS"
for p; do
  [ -f "$TOP/offered/$p" ] || continue
  { printf 'installed '; cat "$TOP/offered/$p"; echo; } > "$TOP/installed/$p"
done
exit 0
""",
        )
        for package, version in {**REQUIRED, **OPTIONAL}.items():
            (self.offered / package).write_text(version)
            self.install(package, version)

    def install(self, package, version, status="installed"):
        (self.installed / package).write_text(f"{status} {version}\n")

    def remove(self, *packages):
        for package in packages:
            (self.installed / package).unlink()

    def setup(self, *arguments, **env):
        return subprocess.run(
            ["/bin/sh", str(REPOSITORY / "scripts/setup"), *arguments],
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def calls(self):
        return self.log.read_text().splitlines()

    def assert_status(self, expected, done):
        self.assertEqual(expected, done.returncode, done.stdout + done.stderr)

    def test_nothing_is_missing(self):
        for arguments in ((), ("--check",), ("--print",), ("--check", "--required")):
            self.assert_status(0, self.setup(*arguments))
        self.assertEqual("", self.setup("--print").stdout)
        self.assertEqual([], self.calls())

    def test_check_names_each_missing_package(self):
        for package in {**REQUIRED, **OPTIONAL}:
            self.remove(package)
            done = self.setup("--check")
            self.assert_status(1, done)
            need = "required" if package in REQUIRED else "optional"
            self.assertRegex(
                done.stdout, rf"(?m)^missing \({need}\): {package.replace('+', '[+]')} "
            )
            self.assertEqual(1, len(done.stdout.splitlines()))
            if package in ("cmake", "libx11-dev"):
                self.assert_status(
                    0 if package in OPTIONAL else 1, self.setup("--check", "--required")
                )
            self.install(package, {**REQUIRED, **OPTIONAL}[package])

    def test_removed_but_configured_is_missing(self):
        self.install("libpng-dev", "1.6.39-2", status="config-files")
        done = self.setup("--check")
        self.assert_status(1, done)
        self.assertEqual("", done.stderr)

    def test_too_old_is_missing(self):
        for package, version in (
            ("g++", "4:11.2.0-1"),
            ("cmake", "3.24.9-1"),
            ("python3", "3.8.2"),
        ):
            self.install(package, version)
            done = self.setup("--check")
            self.assert_status(1, done)
            self.assertIn("is needed, here is", done.stdout)
            self.install(package, REQUIRED[package])
        for package, version in (
            ("g++", "4:13.2.0-7ubuntu1"),
            ("cmake", "4.0.1"),
            ("python3", "3.12.3-0ubuntu2"),
        ):
            self.install(package, version)
            self.assert_status(0, self.setup("--check"))

    def test_a_tool_from_elsewhere_counts(self):
        self.remove("cmake", "ninja-build", "g++")
        script(self.bin / "cmake", "#!/bin/sh\necho cmake version 3.31.2\n")
        script(self.bin / "ninja", "#!/bin/sh\necho 1.12.1.git.kitware\n")
        script(self.bin / "g++", "#!/bin/sh\necho 'g++ (Debian 14.2.0-1) 14.2.0'\n")
        self.assert_status(0, self.setup("--check"))
        script(self.bin / "cmake", "#!/bin/sh\necho cmake version 3.18.4\n")
        done = self.setup("--check")
        self.assert_status(1, done)
        self.assertIn("version 3.25 is needed, here is 3.18.4", done.stdout)

    def test_another_compiler_counts_if_it_is_there(self):
        self.remove("g++")
        script(self.bin / "clang++", "#!/bin/sh\n")
        self.assert_status(0, self.setup("--check", CXX="clang++ -stdlib=libstdc++"))
        done = self.setup("--check", CXX="nothing++")
        self.assert_status(1, done)
        self.assertIn("CXX is nothing++, which is not there", done.stderr)

    def test_as_root_it_prints_and_runs_and_installs_both_kinds(self):
        self.remove("cmake", "libpng-dev", "libx11-dev")
        done = self.setup()
        self.assert_status(0, done)
        self.assertEqual(
            [
                "apt-get update -o Acquire::Retries=5; noninteractive",
                INSTALL + " cmake libpng-dev; noninteractive",
                INSTALL + " libx11-dev; noninteractive",
            ],
            self.calls(),
        )
        self.assertIn(
            f"running: env DEBIAN_FRONTEND=noninteractive {INSTALL} cmake libpng-dev\n", done.stdout
        )
        self.assert_status(0, self.setup("--check"))

    def test_print_only_prints(self):
        self.remove("cmake", "libx11-dev")
        done = self.setup("--print")
        self.assert_status(0, done)
        self.assertEqual(
            "apt-get update && apt-get install -y --no-install-recommends cmake libx11-dev\n",
            done.stdout,
        )
        self.assertTrue(
            self.setup("--print", USER_ID="1000").stdout.startswith(
                "sudo apt-get update && sudo apt-get install"
            )
        )
        self.assertEqual([], self.calls())

    def test_an_optional_package_that_is_not_offered_is_only_said(self):
        self.remove("libx11-dev", "libopenblas-dev")
        (self.offered / "libx11-dev").unlink()
        done = self.setup()
        self.assert_status(0, done)
        self.assertIn("going on without: libx11-dev", done.stdout)
        self.assertIn(INSTALL + " libopenblas-dev; noninteractive", self.calls())
        self.assertNotIn("libx11-dev", self.setup("--print").stdout)

    def test_before_the_first_update_apt_knows_nothing(self):
        self.remove("cmake", "libx11-dev", "libglut-dev")
        for path in self.offered.iterdir():
            path.unlink()
        done = self.setup("--print")
        self.assertIn("--no-install-recommends cmake libglut-dev libx11-dev\n", done.stdout)

    def test_the_older_name_of_freeglut(self):
        self.remove("libglut-dev")
        (self.offered / "libglut-dev").unlink()
        (self.offered / "freeglut3-dev").write_text("2.8.1-6")
        self.assert_status(0, self.setup())
        self.assertIn(INSTALL + " freeglut3-dev; noninteractive", self.calls())
        self.assert_status(0, self.setup("--check"))

    def test_sudo_without_a_terminal_never_asks(self):
        self.remove("cmake")
        script(
            self.bin / "sudo",
            '#!/bin/sh\necho "sudo $*" >> "$TOP/calls"\n[ "$1" = -n ] || exit 9\nshift\nexec'
            ' "$@"\n',
        )
        (self.bin / "true").symlink_to(shutil.which("true"))
        done = self.setup(USER_ID="1000")
        self.assert_status(0, done)
        self.assertIn(f"sudo -n env DEBIAN_FRONTEND=noninteractive {INSTALL} cmake", self.calls())

    def test_sudo_with_a_terminal_may_ask(self):
        self.remove("cmake")
        script(self.bin / "sudo", '#!/bin/sh\necho "sudo $*" >> "$TOP/calls"\nexec "$@"\n')
        controller, terminal = pty.openpty()
        self.addCleanup(os.close, controller)
        self.addCleanup(os.close, terminal)
        subprocess.run(
            ["/bin/sh", str(REPOSITORY / "scripts/setup")],
            env={**self.env, "USER_ID": "1000"},
            stdin=terminal,
            capture_output=True,
            timeout=30,
            check=True,
        )
        self.assertIn(f"sudo env DEBIAN_FRONTEND=noninteractive {INSTALL} cmake", self.calls())

    def assert_by_hand(self, done, command):
        self.assert_status(3, done)
        self.assertIn(f"\n    {command}\n", done.stderr)

    def test_where_it_may_not_install_it_says_what_to_run(self):
        self.remove("cmake", "libpng-dev")
        command = (
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake"
            " libpng-dev"
        )
        self.assert_by_hand(self.setup(USER_ID="1000"), command)
        script(self.bin / "sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
        done = self.setup(USER_ID="1000")
        self.assert_by_hand(done, command)
        self.assertIn("wants a password and there is no terminal", done.stderr)
        self.assertEqual([], self.calls())

    def test_without_a_network(self):
        self.remove("cmake")
        done = self.setup(UPDATE_STATUS="100", INSTALL_STATUS="100")
        self.assert_by_hand(
            done, "apt-get update && apt-get install -y --no-install-recommends cmake"
        )

    def test_lists_that_cannot_be_updated_may_still_do(self):
        self.remove("cmake")
        done = self.setup(UPDATE_STATUS="100")
        self.assert_status(0, done)
        self.assertIn("apt-get update failed", done.stderr)

    def test_an_optional_package_that_fails_is_only_said(self):
        self.remove("libx11-dev")
        done = self.setup(INSTALL_STATUS="100")
        self.assert_status(0, done)
        self.assertIn("going on without: libx11-dev", done.stdout)

    def test_a_system_that_is_too_old(self):
        self.remove("cmake")
        (self.offered / "cmake").write_text("3.18.4-2")
        done = self.setup()
        self.assert_status(3, done)
        self.assertRegex(
            done.stderr, r"still missing: cmake \(version 3\.25 is needed, here is 3\.18\.4\)"
        )

    def test_another_system(self):
        (self.bin / "apt-get").unlink()
        self.remove("cmake")
        done = self.setup()
        self.assert_by_hand(done, "cmake")
        self.assertIn("not a Debian or Ubuntu system", done.stderr)

    def test_another_system_that_has_everything(self):
        for tool in ("apt-get", "apt-cache", "dpkg-query"):
            (self.bin / tool).unlink()
        for tool, version in (
            ("cmake", "3.30.0"),
            ("ninja", "1.12"),
            ("python3", "3.12.1"),
            ("addr2line", "2.42"),
            ("g++", "14.1.1"),
            ("mpirun", "5.0.5"),
        ):
            script(
                self.bin / tool,
                f'#!/bin/sh\n[ "$1" = --version ] && echo {tool} {version}\nexit 0\n',
            )
        self.assert_status(0, self.setup("--check"))
        script(
            self.bin / "g++",
            '#!/bin/sh\n[ "$1" = --version ] && { echo 14.1.1; exit 0; }\nexit 1\n',
        )
        self.assert_status(1, self.setup("--check"))

    def test_list_is_for_programs(self):
        self.remove("libpng-dev")
        lines = self.setup("--list").stdout.splitlines()
        self.assertEqual(len(REQUIRED) + len(OPTIONAL), len(lines))
        self.assertIn("required;libpng-dev;missing;;PNG pictures", lines)
        self.assertIn("required;cmake;present;3.25.1;the build tool, version 3.25 or later", lines)

    def course(self):
        """A copy of scripts/setup in a folder that may be written into, and tools that it needs."""
        course = self.top / "my course"
        (course / "scripts").mkdir(parents=True)
        for name in ("setup", "author_tools.txt"):
            shutil.copy(REPOSITORY / "scripts" / name, course / "scripts")
        for tool in ("mkdir", "chmod", "ln"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        script(self.bin / "python3", PYTHON)
        return course

    def setup_in(self, course, *arguments, **env):
        return subprocess.run(
            ["/bin/sh", str(course / "scripts/setup"), *arguments],
            cwd=self.top,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )

    def test_each_set_has_what_the_smaller_one_has(self):
        sets = ("--student", "--author", "--all")
        sizes = [len(self.setup(name, "--list").stdout.splitlines()) for name in sets]
        student = len(REQUIRED) + len(OPTIONAL)
        author = student + len(AUTHOR) + len(BROWSER) + 1  # those of PyPI
        self.assertEqual([student, author, author + len(NIGHTLY)], sizes)

    def test_authors_get_packages_and_tools_from_pypi(self):
        course = self.course()
        for package, version in {**AUTHOR, **BROWSER, **NIGHTLY}.items():
            (self.offered / package).write_text(version)
        self.assert_status(1, self.setup_in(course, "--author", "--check"))
        done = self.setup_in(course, "--author")
        self.assert_status(0, done)
        self.assertIn(f"{INSTALL} {' '.join(AUTHOR)}; noninteractive", self.calls())
        self.assertIn(f"{INSTALL} {' '.join(BROWSER)}; noninteractive", self.calls())
        tools = course / ".lab/tools"
        self.assertIn(f"python3 -m venv {tools}", self.calls())
        self.assertIn(f"--requirement {course}/scripts/author_tools.txt", self.calls()[-1])
        self.assert_status(0, self.setup_in(course, "--author", "--check"))
        self.assert_status(1, self.setup_in(course, "--all", "--check"))
        # Another version is another tool.
        with (course / "scripts/author_tools.txt").open("a") as file:
            file.write("other==1\n")
        done = self.setup_in(course, "--author", "--check")
        self.assert_status(1, done)
        self.assertIn("author-tools", done.stdout)
        self.assert_status(3, self.setup_in(course, "--author", PIP_STATUS="1"))

    def test_cuda_from_pypi(self):
        course = self.course()
        done = self.setup_in(course, "--cuda-from-pypi", "a toolkit")
        self.assert_status(0, done)
        self.assertIn("cuda-toolkit[nvcc,cudart,cccl,cublas,curand]==13.0.*", self.calls()[-1])
        toolkit = course / ".lab/cuda"
        self.assertTrue(os.access(toolkit / "bin/nvcc", os.X_OK))
        self.assertEqual("libcudart.so.13", os.readlink(toolkit / "lib64/libcudart.so"))
        self.assertEqual("libcurand.so.10.4", os.readlink(toolkit / "lib64/libcurand.so"))
        self.assert_status(0, self.setup_in(course, "--cuda-from-pypi", "a toolkit"))  # again

    def test_cuda_from_pypi_that_cannot_be(self):
        course = self.course()
        done = self.setup_in(course, "--cuda-from-pypi", "x", "--cuda-version", "12.9")
        self.assert_status(2, done)
        self.assertIn("nvcc itself exists from version 13.0 on", done.stderr)
        self.assert_status(2, self.setup_in(course, "--cuda-from-pypi"))
        done = self.setup_in(course, "--cuda-from-pypi", "x", PIP_STATUS="1")
        self.assert_status(3, done)
        self.assertIn("could not be installed from PyPI", done.stderr)

    def test_wrong_usage(self):
        done = self.setup("--instal")
        self.assert_status(2, done)
        self.assertIn("'--instal' is not an option", done.stderr)
        self.assertIn("usage:", self.setup("--help").stdout)


if __name__ == "__main__":
    unittest.main()
