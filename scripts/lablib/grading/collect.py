# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Finding each student's files in what a course system hands out.

Nothing is unpacked: of an archive only the files that are asked for are read, into memory, so that
its paths and links lead nowhere. Whatever is odd becomes a sentence for that student.
"""

import errno
import gzip
import io
import os
import re
import stat
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple

from lablib.errors import USAGE, LabError
from lablib.exercises import Exercise

SOURCE_BYTES = 1 << 20  # no solution is near it
ARCHIVE_BYTES = 1 << 30  # unpacked
MOST_FILES = 20_000

_ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz)$", re.IGNORECASE)


@dataclass
class Source:
    """What was found of one exercise: the text to compile, or why there is none."""

    text: str = ""
    found: bool = False
    notes: List[str] = field(default_factory=list)


@dataclass
class Submission:
    student: str  # as the names of files say it
    paths: List[Path]
    notes: List[str] = field(default_factory=list)

    def sources(self, exercises: Sequence[Exercise]) -> Dict[str, Source]:
        """By the exercises' numbers."""
        wanted = _Wanted({f"{exercise.name}.cu" for exercise in exercises})
        notes: List[str] = []
        files = list(_files(self.paths, wanted, notes))
        self.notes = list(dict.fromkeys(notes))
        return {exercise.id: _choose(exercise, files, wanted.others) for exercise in exercises}


@dataclass(frozen=True)
class _File:
    name: str  # as it stands in the submission
    data: bytes
    problem: str = ""


# What browsers, editors and copying make of a name: "dot_product (1).cu", "Dot-Product.cu.txt".
_NEARLY = re.compile(
    r"(?P<name>[\w -]+?)(?:[ _]?\(\d+\)|-\d+|[ _-]+copy)?\.cu(?:\.txt)?", re.IGNORECASE | re.ASCII
)


@dataclass
class _Wanted:
    """The names of the files that are asked for."""

    names: Set[str]
    others: List[str] = field(default_factory=list)  # CUDA files with names that mean none of them

    def meant(self, name: str) -> Optional[str]:
        """Which of the names a file's name stands for."""
        base = _base(name)
        if base in self.names:
            return base
        match = _NEARLY.fullmatch(base)
        plain = re.sub("[ -]", "_", match["name"].lower()) + ".cu" if match else ""
        if plain in self.names:
            return plain
        if re.search(r"\.cu[^.]*(\.txt)?$", base, re.IGNORECASE):
            self.others.append(name)
        return None


def submissions(folder: Path) -> List[Submission]:
    """One for each student, in the order of their names."""
    try:
        entries = sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        raise LabError(f"{folder} cannot be read: {error.strerror}.", USAGE) from error
    found: Dict[str, List[Path]] = {}
    for path in entries:
        if path.name.startswith(".") or path.name.endswith((".yml", ".csv", ".html")):
            continue
        found.setdefault(student_of(path.name), []).append(path)
    if not found:
        raise LabError(f"{folder} holds no submissions: a folder or an archive a student.", USAGE)
    return [Submission(student, paths) for student, paths in sorted(found.items())]


# How course systems name what they hand out.
_MOODLE = re.compile(r"(.+?)_(\d+)_assignsubmission_(?:file|onlinetext)_?.*", re.DOTALL)
_CANVAS = re.compile(r"([^_]+?)(?:_LATE)?_(\d+)_(\d+)_.+", re.DOTALL)
_GRADESCOPE = re.compile(r"submission_(\d+)")


def student_of(name: str) -> str:
    """Whose a file or folder is, by its name."""
    for pattern in (_MOODLE, _CANVAS):
        match = pattern.fullmatch(name)
        if match:
            return f"{match[1]}_{match[2]}"
    match = _GRADESCOPE.fullmatch(_ARCHIVE.sub("", name))
    if match:
        return f"submission_{match[1]}"
    return re.sub(r"\.cu$", "", _ARCHIVE.sub("", name))  # Classroom 50: a folder a student


def _files(paths: Sequence[Path], wanted: _Wanted, notes: List[str]) -> Iterator[_File]:
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            notes.append(f"{path.name} cannot be read: {error.strerror}.")
            continue
        if stat.S_ISDIR(mode):
            yield from _in_folder(path, wanted, notes)
        elif _ARCHIVE.search(path.name) and stat.S_ISREG(mode):
            yield from _in_archive(path, wanted, notes)
        elif re.search(r"\.cu(\.txt)?$", path.name, re.IGNORECASE):
            name = _VERSION.sub(".cu", _SYSTEMS_PREFIX.sub("", path.name))
            if wanted.meant(name):
                yield _read(path, name)
        elif stat.S_ISLNK(mode):
            notes.append(f"{path.name} is a link, which is not followed.")


_SYSTEMS_PREFIX = re.compile(  # of Moodle, and of Canvas
    r"^(?:.+?_\d+_assignsubmission_file_|[^_]+?(?:_LATE)?_\d+_\d+_)"
)
_VERSION = re.compile(r"-\d+\.cu$")  # Canvas numbers what is handed in again


_NOT_HANDED_IN = (".git", ".lab", "build")  # of a clone


def _in_folder(folder: Path, wanted: _Wanted, notes: List[str]) -> Iterator[_File]:
    count = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _NOT_HANDED_IN)
        for name in sorted(names):
            count += 1
            if count > MOST_FILES:
                notes.append(f"more than {MOST_FILES} files: the others were not looked at.")
                return
            path = Path(place) / name
            if wanted.meant(name):
                yield _read(path, str(path.relative_to(folder)))
            elif _ARCHIVE.search(name) and not path.is_symlink() and path.is_file():
                yield from _in_archive(path, wanted, notes)


def _read(path: Path, name: str) -> _File:
    """A regular file, and nothing that only looks like one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _File(name, b"", "is a link, which is not followed")
        return _File(name, b"", f"cannot be read ({error.strerror})")
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return _File(name, b"", "is no ordinary file")
        if status.st_size > SOURCE_BYTES:
            return _File(name, b"", _too_long(status.st_size))
        return _File(name, file.read(SOURCE_BYTES + 1))


def _too_long(size: int) -> str:
    return f"has {size} bytes, and a solution has no more than {SOURCE_BYTES}"


class _Bounded(io.RawIOBase):
    """What is unpacked, up to a limit."""

    def __init__(self, inner: "io.BufferedIOBase"):
        self.inner, self.left = inner, ARCHIVE_BYTES

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part = self.inner.read(size if size >= 0 else 65536)
        self.left -= len(part)
        if self.left < 0:
            raise tarfile.ReadError(f"it unpacks to more than {ARCHIVE_BYTES >> 20} MiB")
        return part


def _in_archive(path: Path, wanted: _Wanted, notes: List[str]) -> Iterator[_File]:
    try:
        with open(path, "rb") as file:
            if path.name.lower().endswith(".zip"):
                yield from _in_zip(file, wanted, notes)
            else:
                yield from _in_tar(file, wanted, notes)
    except Exception as error:  # what a damaged one makes the libraries raise has no list
        notes.append(f"{path.name} cannot be unpacked: {error or type(error).__name__}.")


def _in_zip(file: "io.BufferedReader", wanted: _Wanted, notes: List[str]) -> Iterator[_File]:
    with zipfile.ZipFile(file) as archive:
        for number, member in enumerate(archive.infolist()):
            if number >= MOST_FILES:
                notes.append(f"more than {MOST_FILES} files: the others were not looked at.")
                return
            if member.is_dir() or not wanted.meant(member.filename):
                continue
            if stat.S_ISLNK(member.external_attr >> 16):
                yield _File(member.filename, b"", "is a link, which is not followed")
            elif member.file_size > SOURCE_BYTES:
                yield _File(member.filename, b"", _too_long(member.file_size))
            else:
                with archive.open(member) as content:
                    yield _File(member.filename, content.read(SOURCE_BYTES + 1))


def _in_tar(file: "io.BufferedReader", wanted: _Wanted, notes: List[str]) -> Iterator[_File]:
    is_packed = file.peek(2)[:2] == b"\x1f\x8b"
    inner = _Bounded(gzip.GzipFile(fileobj=file) if is_packed else file)
    with tarfile.open(fileobj=inner, mode="r|") as archive:
        for number, member in enumerate(archive):
            if number >= MOST_FILES:
                notes.append(f"more than {MOST_FILES} files: the others were not looked at.")
                return
            if not wanted.meant(member.name):
                continue
            if member.issym() or member.islnk():
                yield _File(member.name, b"", "is a link, which is not followed")
            elif not member.isreg():
                yield _File(member.name, b"", "is no ordinary file")
            elif member.size > SOURCE_BYTES:
                yield _File(member.name, b"", _too_long(member.size))
            else:
                content = archive.extractfile(member)
                yield _File(member.name, content.read(SOURCE_BYTES + 1) if content else b"")


def _base(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


def _choose(exercise: Exercise, files: Sequence[_File], others: Sequence[str]) -> Source:
    name = f"{exercise.name}.cu"
    source = Source()
    # A clone of the course has the course's own files, too, which nobody hands in.
    courses = [file for file in files if _ends_with(file.name, exercise.given_files)]
    files = [file for file in files if file not in courses]
    mine = [file for file in files if _base(file.name) == name] or [
        file for file in files if _Wanted({name}).meant(file.name)
    ]
    if not mine:
        seen_names = {*others, *(file.name for file in courses)}
        seen = ", ".join(_shown(other) for other in sorted(seen_names)[:5])
        source.notes.append(f"no {name} was handed in" + (f", but {seen}." if seen else "."))
        return source
    good = [file for file in mine if not file.problem]
    if not good:
        source.notes += [f"{_shown(file.name)} {file.problem}." for file in mine]
        return source
    if len({file.data for file in good}) > 1:
        # The one in the exercise's own folder is meant, if there is one.
        place = f"{exercise.number}_{exercise.name}"
        there = [file for file in good if place in PurePosixPath(file.name).parts]
        if len({file.data for file in there}) != 1:
            names = ", ".join(sorted(_shown(file.name) for file in good))
            source.notes.append(f"there are several different files {name}: {names}.")
            return source
        source.notes.append(f"of several files {name}, {_shown(there[0].name)} was graded.")
        good = there
    for file in files:
        if _base(file.name) != name and file not in good and _Wanted({name}).meant(file.name):
            if file.data != good[0].data:
                source.notes.append(f"{_shown(file.name)} is another file, and was not graded.")
    if _base(good[0].name) != name:
        source.notes.append(f"{_shown(good[0].name)} was taken for {name}.")
    if len(good[0].data) > SOURCE_BYTES:
        source.notes.append(f"{name} {_too_long(len(good[0].data))}.")
        return source
    text, notes = decode(good[0].data)
    source.notes += [f"{name} {note}." for note in notes]
    if "\0" in text:
        source.notes.append(f"{name} is no text.")
        return source
    source.text, source.found = text, True
    return source


def _ends_with(name: str, paths: Sequence[Path]) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any(parts[-len(path.parts) :] == path.parts for path in paths)


def _shown(name: str) -> str:
    """A name that somebody else has chosen, in one line."""
    return "'" + re.sub(r"[^\x20-\x7e\xa1-\ud7ff\ue000-\ufffd]", "?", name)[:120] + "'"


def decode(data: bytes) -> Tuple[str, List[str]]:
    """The text of a file in whatever encoding, with \\n at the end of each line."""
    notes: List[str] = []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
        notes.append("was UTF-16, and was read as that")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
            notes.append("was not UTF-8, and was read as Windows-1252")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, notes
