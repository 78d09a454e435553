# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""What the graders of other systems take: the course, a rubric, and the scripts that they run.

All of them do the same. Once, what grades is built (_PREPARE); then each submission is graded by
`scripts/lab grade` (_GRADE), and its result goes where the system looks for it.
"""

import hashlib
import json
import re
import shlex
import subprocess
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, Sequence

from lablib import export
from lablib.errors import USAGE, LabError
from lablib.grading.rubric import Rubric

# Both have one --out, so that submissions find there that the solutions pass.
_PREPARE = """\
#!/usr/bin/env bash
# Once: packages, and all that grades.
set -euo pipefail
here={here}
course=$here/course
cd "$here"
tar xf course.tar.gz
cd "$course"
as_root="env DEBIAN_FRONTEND=noninteractive"
[ "$(id -u)" = 0 ] || as_root="sudo -n $as_root"
scripts/setup --student
packages=
command -v bwrap >/dev/null || packages=bubblewrap
# A rubric is TOML, which Python reads by itself from 3.11 on.
python3 -c 'import tomllib' 2>/dev/null || packages+=" python3-tomli"
[ -z "$packages" ] || { $as_root apt-get update; $as_root apt-get install -y $packages; }
{before}mkdir -p "$here/nobody/nobody"
scripts/lab grade "$here/nobody" {what} --out "$here/out"{sandbox}
"""

_GRADE = """\
#!/usr/bin/env bash
# For each submission.
set -euo pipefail
here={here}
course=$here/course
submission={submission}
rubric={rubric}
rm -rf "$here/class"
mkdir -p "$here/class"
# A copy: grading follows no links. Links inside stay links.
cp -a "$submission" "$here/class/{name}" || echo "Not everything could be copied."
cd "$course"
scripts/lab grade "$here/class" --rubric "$rubric/rubric.toml" --out "$here/out" \\
  --format {format}{sandbox}{log}
{result}
"""


@dataclass(frozen=True)
class Order:
    """What an instructor has asked for."""

    root: Path
    rubric_file: Path
    rubric: Rubric
    to: Path
    no_sandbox: bool = False
    image: str = "cuda_labs"  # what the system will call it, where there is one

    @property
    def sandbox(self) -> str:
        return " --no-sandbox" if self.no_sandbox else ""

    @property
    def ids(self) -> str:
        return ",".join(task.exercise.id for task in self.rubric.tasks)

    @property
    def title(self) -> str:
        return self.rubric.title or f"CUDA Labs {self.ids}"


def gradescope(order: Order) -> str:
    """By Gradescope's specification of autograders: the archive has setup.sh, which makes the
    image, and run_autograder, which leaves results.json."""
    _course(order, order.to)
    _rubric(order, order.to)
    place = {"here": "/autograder/source", "sandbox": order.sandbox}
    what = '--rubric "$here/rubric/rubric.toml"'
    _script(order.to / "setup.sh", _PREPARE, **place, what=what, before="")
    _script(
        order.to / "run_autograder",
        _GRADE,
        **place,
        submission="/autograder/submission/.",
        name="submission",
        rubric="$here/rubric",
        format="gradescope",
        log="",
        result='cp "$here"/out/gradescope/*.json /autograder/results/results.json',
    )
    to = shlex.quote(str(order.to))
    return f"Upload an archive of what is in {order.to}: `cd {to} && zip -r ../autograder.zip .`"


def prairielearn(order: Order) -> str:
    """By docs/externalGrading.md, docs/elements/ and docs/dockerImages.md of PrairieLearn. Anybody
    can read what is in such an image, so the rubric and hidden tests are in the question."""
    _image(order)
    question = order.to / "question"
    _rubric(order, question / "tests")
    _script(
        question / "tests" / "grade.sh",
        _GRADE,
        here="/cuda_labs",
        submission="/grade/student/.",
        name="submission",
        rubric="/grade/tests/rubric",
        format="prairielearn",
        sandbox=order.sandbox,
        log="",
        result="mkdir -p /grade/results\n"
        'cp "$here"/out/prairielearn/*.json /grade/results/results.json',
    )
    # With another number it would be another question, so it stays the same when exported again.
    number = hashlib.sha256(f"{order.title} {order.ids}".encode()).digest()[:16]
    info = {
        "uuid": str(uuid.UUID(bytes=number, version=4)),
        "title": order.title,
        "topic": "CUDA",
        "type": "v3",
        "gradingMethod": "External",
        "singleVariant": True,
        "externalGradingOptions": {
            "enabled": True,
            "image": order.image,
            "entrypoint": "/grade/tests/grade.sh",
            "timeout": 600,  # the most that there is
        },
    }
    _text(question / "info.json", json.dumps(info, indent=2) + "\n")
    tasks = order.rubric.tasks
    items = "".join(
        f"    <li>{task.exercise.id}: <code>{task.exercise.name}.cu</code>,"
        f" {float(task.rules.full):g} points</li>\n"
        for task in tasks
    )
    names = ",".join(f"{task.exercise.name}.cu" for task in tasks)
    kind = "file-names" if len(tasks) == 1 else "optional-file-names"  # some may do only one
    _text(
        question / "question.html",
        f"<pl-question-panel>\n  <p>Hand in:</p>\n  <ul>\n{items}  </ul>\n"
        f'  <pl-file-upload {kind}="{names}"></pl-file-upload>\n</pl-question-panel>\n'
        "<pl-submission-panel>\n  <pl-external-grader-results></pl-external-grader-results>\n"
        "  <pl-file-preview></pl-file-preview>\n</pl-submission-panel>\n",
    )
    image = shlex.quote(str(order.to / "image"))
    return (
        f"`docker build --platform linux/amd64 -t {order.image} {image} && docker push"
        f" {order.image}` makes the image; copy {question} to questions/NAME of your course."
    )


# By vmms/Dockerfile and autodriver/ of Tango, which runs jobs: as autolab it starts autodriver,
# which runs make as autograde.
_FOR_TANGO = """\
RUN useradd autolab && useradd autograde && \\
  bash /cuda_labs/prepare.sh && chown -R autograde: /cuda_labs
RUN apt-get install -y --no-install-recommends \\
    ca-certificates gcc git libc6-dev make procps && \\
  git clone --depth 1 https://github.com/autolab/Tango.git /tmp/Tango && \\
  gcc -o /usr/bin/autodriver /tmp/Tango/autodriver/autodriver.c && \\
  chmod u+s /usr/bin/autodriver && rm -rf /tmp/Tango
WORKDIR /home
RUN mkdir autolab autograde output && \\
  chown autolab: autolab output && chown autograde: autograde
"""


def autolab(order: Order) -> str:
    """By docs/lab.md of Autolab: a lab has autograde-Makefile, autograde.tar, and a file of YAML
    by which it is installed, with a problem for each exercise."""
    if len(order.image) > 64:
        raise LabError("Autolab takes names of images of up to 64 characters.", USAGE)
    if re.search("[/:]", order.image):
        raise LabError(
            f"Autolab's Tango finds no image that is called {order.image}: leave out"
            " what is up to the last /, and what follows a colon.",
            USAGE,
        )
    _image(order, _FOR_TANGO)
    name = re.sub("[^A-Za-z0-9]+", "_", order.title).strip("_")[:60]
    name = name if name[:1].isalpha() else f"lab_{name}"  # a rule of Autolab's
    lab = order.to / "lab" / name
    lab.mkdir(parents=True)
    tasks = order.rubric.tasks
    # Autolab gives a submission the lab's name for it, whatever kind of archive it is.
    one = f"{tasks[0].exercise.name}.cu"
    kind = '$(head -c 2 "$submission" | grep -q PK && echo zip || echo tar)'
    handed_in, called = (one, one) if len(tasks) == 1 else ("handin.tar", f"handin.{kind}")
    with tempfile.TemporaryDirectory(prefix="lab_export_") as folder:
        driver = Path(folder)
        _rubric(order, driver)
        _script(
            driver / "driver.sh",
            _GRADE,
            here="/cuda_labs",
            submission=f"$PWD/{handed_in}",
            name=called,
            rubric="$PWD/rubric",
            format="autolab",
            sandbox=order.sandbox,
            # Students read all that is printed.
            log=' >"$here/log" 2>&1 || { cat "$here/log"; exit 1; }',
            result='cat "$here"/out/autolab/*.txt',
        )
        _tar(lab / "autograde.tar", driver, ["driver.sh", "rubric"])
    makefile = "all:\n\t@tar xf autograde.tar\n\t@bash driver.sh\n"
    _text(lab / "autograde-Makefile", makefile)
    display = json.dumps(order.title, ensure_ascii=False)
    problems = "".join(
        f'- name: "{task.exercise.id}"\n  description: {task.exercise.name}\n'
        f"  max_score: {float(task.rules.full)}\n  optional: false\n"
        for task in tasks
    )
    _text(
        lab / f"{name}.yml",
        f"---\ngeneral:\n  name: {name}\n  display_name: {display}\n"
        f"  description: ''\n  handin_filename: {handed_in}\n  handin_directory: handin\n"
        "  max_submissions: -1\n  disable_handins: false\n  max_size: 2\n  max_grace_days: 0\n"
        f"  category_name: CUDA\nproblems:\n{problems}"
        f'autograder:\n  autograde_image: "{order.image}"\n'
        "  autograde_timeout: 900\n  release_score: true\n",
    )
    image, to = (shlex.quote(str(path)) for path in (order.to / "image", lab.parent))
    return (
        f"`docker build -t {order.image} {image}`, where Tango runs, makes the image; install the"
        f" lab from the archive that `cd {to} && tar cf {name}.tar {name}` makes."
    )


# Ubuntu lets only root make what a sandbox needs; these machines live for one submission.
_NAMESPACES = """\
if [ "${RUNNER_ENVIRONMENT:-}" = github-hosted ]; then
  $as_root sysctl -qw kernel.apparmor_restrict_unprivileged_userns=0
fi
"""

_AUTOGRADER = '''\
"""By wiki/Advanced-Autograding.md of Classroom 50: this is called where the student's files are,
leaves result.json there, and has the status 0 whatever the points are."""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
for script in ("prepare.sh", "grade.sh"):
    subprocess.run(["bash", str(HERE / script)], check=True)

# What the student reads. Indented lines are shown as they are.
result = json.loads(Path("result.json").read_text(encoding="utf-8"))
body = []
for test in result["tests"]:
    body += [f"### {test['test-name']}: {test['score']} of {test['max-score']} points", ""]
    body += ["    " + line for line in test["output"].split("\\n")] + [""]
text = "\\n".join(body)
if len(text) > 100_000:  # GitHub takes 125,000, of which Classroom 50 may need some
    text = text[:100_000] + "\\n\\nThe rest is in result.json.\\n"
Path("release-body.md").write_text(text, encoding="utf-8")
'''


def classroom50(order: Order) -> str:
    """By wiki/Advanced-Autograding.md of Classroom 50: a folder with autograder.py and what it
    needs, of at most 10 MiB when packed, for a machine on which nothing is prepared."""
    _course(order, order.to)
    _rubric(order, order.to)
    place = {"here": '$(cd "$(dirname "$0")" && pwd)', "sandbox": order.sandbox}
    what = '--rubric "$here/rubric/rubric.toml"'
    before = "" if order.no_sandbox else _NAMESPACES
    _script(order.to / "prepare.sh", _PREPARE, **place, what=what, before=before)
    _script(
        order.to / "grade.sh",
        _GRADE,
        **place,
        submission="$PWD/.",
        name="submission",
        rubric="$here/rubric",
        format="classroom50",
        log="",
        # A student may have left links there.
        result='cd "$submission"\nrm -rf result.json release-body.md\n'
        'cp "$here"/out/classroom50/*.json result.json',
    )
    _text(order.to / "autograder.py", _AUTOGRADER)
    return (
        f"Copy what is in {order.to} to CLASSROOM/autograders/ASSIGNMENT/ of your organization's"
        " repository classroom50. It publishes that, the solutions and hidden tests included."
    )


@dataclass(frozen=True)
class System:
    name: str  # as it calls itself
    write: Callable[[Order], str]  # and a sentence on what to do with it
    has_image: bool = False


SYSTEMS: Dict[str, System] = {
    "gradescope": System("Gradescope", gradescope),
    "prairielearn": System("PrairieLearn", prairielearn, has_image=True),
    "autolab": System("Autolab", autolab, has_image=True),
    "classroom50": System("Classroom 50", classroom50),
}


def write(system: str, order: Order) -> str:
    """Fills a new folder, and returns what to do with it."""
    if order.rubric.submitted:
        raise LabError(
            f"{order.rubric_file}: submitted and late are not for {SYSTEMS[system].name}, which"
            " knows by itself who is late: leave them out.",
            USAGE,
        )
    if order.rubric.device == "gpu":
        raise LabError(
            f"{order.rubric_file}: what is made for {SYSTEMS[system].name} has no GPU: leave out"
            ' device = "gpu", and speed.',
            USAGE,
        )
    if not re.fullmatch(r"[a-z0-9][\w./:-]*", order.image, re.ASCII):
        raise LabError(f"'{order.image}' is no name of an image, such as you/cuda_labs.", USAGE)
    export.new_folder(order.to)
    return SYSTEMS[system].write(order)


def _image(order: Order, made: str = "RUN bash /cuda_labs/prepare.sh\n") -> None:
    """What `docker build` takes. Nothing of a student's runs there, and it allows no sandbox."""
    folder = order.to / "image"
    _course(order, folder)
    what = f"--exercises {order.ids}"
    here = {"here": "/cuda_labs", "before": ""}
    _script(folder / "prepare.sh", _PREPARE, **here, what=what, sandbox=" --no-sandbox")
    _text(
        folder / "Dockerfile",
        f"FROM debian:12\nCOPY course.tar.gz prepare.sh /cuda_labs/\n{made}",
    )


def _course(order: Order, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = export.tracked_files(order.root)
    _tar(folder / "course.tar.gz", order.root, names, "--gzip", "--transform=s,^,course/,")


def _rubric(order: Order, folder: Path) -> None:
    export.copy(order.rubric_file, folder / "rubric" / "rubric.toml")
    for task in order.rubric.tasks:
        for test in task.hidden:
            place = test.relative_to(order.rubric_file.parent)
            export.copy(test, folder / "rubric" / place)


def _tar(to: Path, folder: Path, names: Sequence[str], *options: str) -> None:
    listed = "".join(f"{name}\0" for name in names).encode()
    command = ["tar", "--create", f"--file={to}", f"--directory={folder}", *options]
    subprocess.run([*command, "--null", "--files-from=-"], input=listed, check=True)


def _script(to: Path, template: str, **values: str) -> None:
    _text(to, re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template))
    to.chmod(0o755)


def _text(to: Path, text: str) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text, encoding="utf-8")
