# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Making a worker of a student's file: with the commands that made the solution's, in the sandbox.

The compiler sees the contract, the headers that the solution includes, the course's common headers
and what is linked. It sees no test, no solution and no other student.
"""

import dataclasses
import functools
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence, Set, Tuple

from lablib import build, refused
from lablib.device import Device, nvidia_smi
from lablib.errors import LabError
from lablib.exercises import Exercise
from lablib.grading import sandbox
from lablib.grading.sandbox import Sandbox

WALL_SECONDS = 180.0
_WORK = "/tmp/lab_grade_work"  # in the sandbox
PREPROCESSED_BYTES = 48 << 20  # with all headers; those of the course and the system have 5 MiB
OWN_BYTES = 2 << 20  # preprocessed; no solution has more than 100 KiB
_MARKER = re.compile(r'# \d+ "([^"]*)"')
_RENAMED = "s/::cpu_device::/::rewriter::/g; s/CPU_DEVICE_GAP(/CPU_DEVICE_NO_GAP(/g"
_FIRST = ("cuda_runtime.h", ["-include"])  # what all CUDA files begin with, and what is before it
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Recipe:
    """How the code of an exercise becomes a worker, or a program."""

    exercise: Exercise
    rewrite: List[str]  # nothing for a GPU
    compile: List[str]
    link: List[str]
    readable: Tuple[Path, ...]  # what the three need
    folder: Path  # where they are started

    @property
    def fingerprint(self) -> str:
        """Changes with everything that a worker is made of, but for the student's file."""
        digest = hashlib.sha256(repr((self.rewrite, self.compile, self.link)).encode())
        for path in self.readable:
            if path.is_file() and path.suffix != ".gch":  # of headers; no two builds are the same
                digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


HEADERS = "watched_cuda_headers"  # a target: what watched workers begin with, compiled once


def targets(exercise: Exercise) -> List[str]:
    return [f"grader.{exercise.id}", f"worker.{exercise.id}"]


def grader(root: Path, device: Device, exercise: Exercise) -> Path:
    return build.folder(root, device.name) / "bin" / "graders" / exercise.full_name


def recipe(root: Path, device: Device, exercise: Exercise, kind: str = "worker") -> Recipe:
    """Reads the commands that made what has been built of the solution: `worker`, `watched_worker`,
    or `solution`, its program."""
    folder = build.folder(root, device.name)
    answer = subprocess.run(
        ["ninja", "-C", str(folder), "-t", "commands", f"{kind}.{exercise.id}"],
        capture_output=True,
        text=True,
    )
    code = f"{'watched_' if kind == 'watched_worker' else ''}solution_code.{exercise.id}"
    rewrite: List[str] = []
    compiling: List[str] = []
    linking: List[str] = []
    for line in answer.stdout.splitlines():
        words = shlex.split(line)
        if f"/cuda/{code}/" in line and "--depfile" in words:
            words = words[words.index("&&") + 1 :]
            rewrite = words[: words.index("&&")]
        elif f"/{code}.dir/" in line and "-c" in words:
            compiling = words
        elif words[:2] == [":", "&&"]:
            linking = words[2 : words.index("&&", 2)]
    if not (compiling and linking and (rewrite or device.name == "gpu")):
        raise LabError(
            f"the build folder does not say how {exercise.id} is compiled: {answer.stderr.strip()}"
        )
    return _for_another_file(root, exercise, folder, rewrite, compiling, linking)


def toolkit(compiler: str) -> List[Path]:
    """CUDA's folders, or another compiler's: the one through which it is known, and the one where
    it is."""
    return sorted({Path(compiler).parents[1], Path(compiler).resolve().parents[1]})


def _elsewhere(compiler: str) -> Set[Path]:
    """What belongs to a host compiler that is not below /usr, which every sandbox shows. Never its
    whole folder: of `~/bin/g++` that is somebody's home, with the course and all submissions."""
    if not compiler.startswith("/"):
        return set()
    parts = ("bin", "include", "lib", "lib32", "lib64", "libexec", "*-linux-*")
    found = {path for folder in toolkit(compiler) for part in parts for path in folder.glob(part)}
    return {path for path in found if path.is_dir() and path.parts[:2] != ("/", "usr")}


def architecture() -> str:
    """Of the GPU, which nvcc cannot ask for it from a sandbox."""
    return "sm_" + nvidia_smi("compute_cap").replace(".", "")


def _for_another_file(
    root: Path,
    exercise: Exercise,
    folder: Path,
    rewrite: List[str],
    compiling: List[str],
    linking: List[str],
) -> Recipe:
    file, code = f"{_WORK}/{exercise.name}.cu", f"{_WORK}/code.o"
    own = compiling[compiling.index("-o") + 1]
    readable: Set[Path] = {root / "common" / "include"}
    rewritten: List[str] = []
    made = file
    if rewrite:
        made += ".cpp"
        includes = [word for word in rewrite if word.startswith("-I")]
        rewritten = [rewrite[0], file, "--output", made, *includes]
        readable |= {Path(rewrite[0]), root / "common" / "cpu_device" / "include"}
    compiler: List[str] = []
    skip = False
    for word in compiling:
        if skip or word in ("-MD", "ccache") or word == f"-I{exercise.solution_file.parent}":
            skip = False
        elif word in ("-MT", "-MF", "-o", "-c"):
            skip = True
        elif word.endswith("/cmake_pch.hxx") or (word, compiler[-1:]) == _FIRST:
            # A compiled copy, if there is one: half of the compiler's time is that header's.
            name = f"CMakeFiles/{HEADERS}.dir/cmake_pch.hxx" if word == _FIRST[0] else word
            copy = [folder / name, folder / f"{name}.gch"]
            is_there = all(path.is_file() for path in copy)
            compiler.append(str(copy[0]) if is_there else _FIRST[0])
            readable |= set(copy) if is_there else set()
        elif word == "-arch=native":
            compiler.append(f"-arch={architecture()}")
        elif not re.fullmatch(r"(-Xcompiler=)?-Werror(=all-warnings)?", word):  # no mistakes
            compiler.append(word)
    linker = [code if word == own else word for word in linking]
    linker[linker.index("-o") + 1] = f"{_WORK}/worker"
    if _elsewhere(linker[0]):
        # A compiler of an environment module, say. Neither nvcc in the sandbox, whose PATH is
        # another one, nor the worker, which sees no such folder, would find what belongs to it.
        readable |= _elsewhere(linker[0])
        linker += ["-static-libstdc++", "-static-libgcc"]
        if not rewrite:
            compiler += ["-ccbin", linker[0]]
    if rewrite:
        compiler += ["-fdiagnostics-color=never", "-fmax-errors=3"]
    else:
        readable |= {path for path in toolkit(compiler[0]) if path.parts[:2] != ("/", "usr")}
    compiler += ["-o", code, "-c", made]

    readable |= _headers(exercise)
    for word in linking:
        path = folder / word
        is_linked = re.search(r"\.(o|a|so)$", word) and path.is_file() and word != own
        if is_linked and not str(path).startswith("/usr/"):
            readable.add(path)
    for word in compiling:
        if word.startswith("/") and not word.startswith("/usr/") and Path(word).is_dir():
            readable.add(Path(word))
    return Recipe(exercise, rewritten, compiler, linker, tuple(sorted(readable)), folder)


def _headers(exercise: Exercise) -> Set[Path]:
    """The headers of labs/ that the solution includes, and those that they include."""
    found: Set[Path] = set()
    todo = [exercise.solution_file]
    while todo:
        file = todo.pop()
        for name in _INCLUDE.findall(file.read_text(encoding="utf-8")):
            for base in (file.parent, exercise.folder):
                header = Path(os.path.normpath(base / name))
                if header.is_file() and header not in found and header.suffix == ".hpp":
                    found.add(header)
                    todo.append(header)
    return found


@dataclass(frozen=True)
class Made:
    """A worker (or a program), or the sentence that says why there is none."""

    worker: Optional[Path]
    problem: str = ""


@dataclass(frozen=True)
class Examined:
    """What is known of a student's file before anything is made of it."""

    problem: str = ""  # the sentence that says why nothing is
    is_refused: bool = False  # and not only wrong


def examine(fast: Recipe, watched: Recipe, text: str, place: Sandbox) -> Examined:
    """Looks at the file as the compilers of both builds see it, so that no macro hides a word, and
    nothing that tells the builds apart makes two programs of one file. What was not seen to its
    end, for whatever reason, is not compiled."""
    sentence = refused.by_text(text)
    if sentence:
        return Examined(sentence, True)
    seen: List[str] = []
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        source = Path(folder) / f"{fast.exercise.name}.cu"
        source.write_text(text, encoding="utf-8", newline="")
        for build_of in (fast, watched):
            answer, output = _preprocess(build_of, source, place)
            own = own_text(output, build_of.readable, build_of.folder)
            if own is None or output.stat().st_size >= PREPROCESSED_BYTES:
                return Examined(
                    f"the file is refused: preprocessed, it has more than {OWN_BYTES >> 20} MiB, or"
                    f" {PREPROCESSED_BYTES >> 20} with all headers, and no exercise needs that.",
                    True,
                )
            if answer.status != 0:
                _require_sandbox(answer)
                return Examined(_first_message(answer, build_of))
            seen.append(own)
    if seen[0] != seen[1]:
        at = len(os.path.commonprefix(seen))
        begin = seen[0].rfind("\n", 0, at) + 1
        line = next(filter(None, (own[begin:].lstrip()[:100].splitlines() for own in seen)), [""])
        return Examined(
            "the file is refused: it asks whether its accesses are watched, and is another"
            f" program where they are, from here on: {line[0].strip()}",
            True,
        )
    return Examined(refused.by_word(seen[0]), True)


def make(recipe: Recipe, text: str, place: Sandbox, worker: Path) -> Made:
    """Compiles the text of a student's file. Never raises for what is in it."""
    with tempfile.TemporaryDirectory(prefix="lab_grade_") as folder:
        source = Path(folder) / f"{recipe.exercise.name}.cu"
        source.write_text(text, encoding="utf-8", newline="")
        script = " && ".join(
            [
                *_begin(recipe),
                *([_quoted(recipe.rewrite)] if recipe.rewrite else []),
                _quoted(recipe.compile),
                _quoted(recipe.link) + " >&2",
                f"cat {_WORK}/worker",
            ]
        )
        made = Path(folder) / "made"
        answer = _run(recipe, source, place, script, made)
        if answer.status == 0 and made.stat().st_size > 0:
            # Not by this process: what another thread starts would have the file open for writing
            # for a moment, in which it cannot be started ("text file busy").
            subprocess.run(["cp", str(made), str(worker)], check=True)
            worker.chmod(0o755)
            return Made(worker)
    _require_sandbox(answer)
    return Made(None, _first_message(answer, recipe))


def _require_sandbox(answer: sandbox.Answer) -> None:
    # Nobody's mistake but this machine's.
    if answer.errors.startswith((b"bwrap:", b"podman:", b"prlimit:")):
        raise LabError(f"the sandbox does not work: {answer.errors.decode('utf-8', 'replace')}")


def _begin(recipe: Recipe) -> List[str]:
    file = f"{recipe.exercise.name}.cu"
    return [
        "set -e",
        f"cd {shlex.quote(str(recipe.folder))}",
        f"mkdir -p {_WORK}",
        f"cat /source > {_WORK}/{file}",
    ]


def _quoted(words: List[str]) -> str:
    return " ".join(map(shlex.quote, words))


def _run(
    recipe: Recipe,
    source: Path,
    place: Sandbox,
    script: str,
    output: Path,
    limits: sandbox.Limits = sandbox.COMPILE,
) -> sandbox.Answer:
    if not place.is_isolated:
        # The same for both builds: __FILE__ is a part of what examine() compares.
        folder = source.parent / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        script = script.replace(_WORK, str(folder)).replace("cat /source", f"cat {source}")
    readable = [(path, str(path)) for path in recipe.readable]
    command = place.command(
        ["/bin/sh", "-c", script], limits, readable=[*readable, (source, "/source")]
    )
    return sandbox.run(command, wall_seconds=WALL_SECONDS, output=output)


def _preprocess(recipe: Recipe, source: Path, place: Sandbox) -> Tuple[sandbox.Answer, Path]:
    made = f"{_WORK}/{recipe.exercise.name}.cu.cpp"
    at = recipe.compile.index("-o")
    # What is compiled, in the place in which it is compiled: what a file can ask for is there as it
    # will be. Only the rewriter's own words of the CPU device are called otherwise, and the gaps,
    # which one build has, are in none: the file itself does not have these characters, or it would
    # not have come this far.
    script = " && ".join(
        [
            *_begin(recipe),
            _quoted(recipe.rewrite),
            _quoted(["sed", "-i", _RENAMED, made]),
            _quoted([*recipe.compile[:at], "-E", made]),
        ]
    )
    output = source.parent / "preprocessed"
    limits = dataclasses.replace(sandbox.COMPILE, file_bytes=PREPROCESSED_BYTES)
    return _run(recipe, source, place, script, output, limits), output


def own_text(preprocessed: Path, readable: Sequence[Path], folder: Path) -> Optional[str]:
    """The lines that come from neither the course nor the system; None if they are too many. What
    else there is to include is the student's file, and it has several names in the sandbox:
    `/source`, and through /proc. No directive gives it another one."""
    others = [Path("/usr"), *(path.resolve() for path in readable)]

    @functools.lru_cache(1000)
    def is_students(name: str) -> bool:
        if name.startswith("<"):  # <built-in>, <command-line>
            return False
        file = (folder / name).resolve()
        return not any(path in (file, *file.parents) for path in others)

    own = io.StringIO()
    left = OWN_BYTES
    is_own, is_whole = False, True
    with open(preprocessed, encoding="utf-8", errors="replace") as file:
        while line := file.readline(65536):  # or a part of a long one
            marker = _MARKER.match(line) if is_whole else None
            is_whole = line.endswith("\n")
            if marker:
                is_own = is_students(marker[1])
            elif is_own:
                left -= len(line)
                if left < 0:
                    return None
                own.write(line)
    return own.getvalue()


def _first_message(answer: sandbox.Answer, recipe: Recipe) -> str:
    if answer.timed_out:
        return f"it does not compile: the compiler was stopped after {WALL_SECONDS:g} s."
    text = answer.errors.decode("utf-8", "replace")
    text = re.sub(r"/\S*/(" + re.escape(recipe.exercise.name) + r"\.cu)", r"\1", text)
    text = text.replace(str(recipe.exercise.root) + "/", "").replace(f"{_WORK}/", "")
    for pattern in (r"[^\n]*(?:error|undefined)[^\n]*", r"[^\n]+"):
        match = re.search(pattern, text)
        if match:
            return f"it does not compile: {match[0].strip()[:500]}"
    return f"it does not compile: the compiler ended with status {answer.status}."
