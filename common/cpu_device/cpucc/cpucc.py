#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""cpucc: compiles CUDA programs for the CPU device, with nvcc's command line.

A .cu file goes through the rewriter, which makes C++ of it, and then through the host compiler; a
link adds the CPU device. No output has its own name before it is complete.
"""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from typing import Dict, List, NoReturn, Optional, Sequence, Set, Tuple

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
LIBRARIES = os.path.join(HOME, "lib", "cpu_device")
HEADERS = os.path.join(HOME, "include", "cpu_device")
REWRITER = os.path.join(LIBRARIES, "cuda_rewriter")
TOOLKIT = os.path.join(LIBRARIES, "toolkit")
# cpucc by this name links as a host compiler does: CMake takes it for one (see Driver.tell_cmake).
LINKER = os.path.join(TOOLKIT, "bin", "host-link")

HELP = """\
usage: cpucc [options] file...

Compiles CUDA programs for the CPU device, which runs kernels on the threads of the processor.
The options are nvcc's, in their short and long forms.

  -c, -dc            compile each file to an object     -o FILE          the output
  -shared, -lib      make a shared library, an archive  -odir DIR        where objects go
  -E, -M, -MM        preprocess; print dependencies     -MD, -MMD, -MP, -MF FILE, -MT NAME
  -D -U -I -isystem -include -L -l -O -g -G -std -x     as for g++
  -Xcompiler LIST    options for the host compiler (-ccbin PROGRAM chooses it)
  -Xlinker LIST      options for the linker
  -rdc=true          files share their `extern __device__` variables
  -fmad=true         round a*b+c once. nvcc does so unless told -fmad=false, the default here
  -arch, -gencode, -Xptxas, --use_fast_math, -lineinfo and the like: accepted, without effect
  --check            not nvcc's: watch every access of kernels for races and bad addresses
  --toolkit          not nvcc's: print a folder for PATH=FOLDER/bin:$PATH or CUDA_HOME=FOLDER
  -dryrun, -v        show the commands                  --version, -h
  @FILE, -optf FILE  read more options from a file

Exit: 0 done, 1 refused or failed. The CPU device's README lists all options.
"""

# nvcc's names, without dashes; those that mean the same are joined by |. A value is given as
# `-name value` or `-name=value`; for those of JOINED also with nothing in between.
FLAGS = """
c|compile dc|device-c dw|device-w dlink|device-link E|preprocess M|generate-dependencies
MM|generate-nonsystem-dependencies MD|generate-dependencies-with-compile
MMD|generate-nonsystem-dependencies-with-compile MP|generate-dependency-targets link lib shared
g|debug G|device-debug pg|profile w|disable-warnings v|verbose dryrun V|version h|help
noeh|no-exceptions check toolkit expt-relaxed-constexpr
forward|forward-unknown-to-host-compiler|forward-unknown-to-host-linker|forward-unknown-opts
"""
VALUES = """
o|output-file I|include-path isystem|system-include D|define-macro U|undefine-macro
L|library-path l|library O|optimize std x Xcompiler|compiler-options Xlinker|linker-options
MF|dependency-output MT|dependency-target-name include|pre-include ccbin|compiler-bindir
odir|output-directory cudart rdc|relocatable-device-code fmad arch|gpu-architecture
gencode|generate-code code|gpu-code ftemplate-depth ftemplate-backtrace-limit optf|options-file
"""
ACCEPTED_FLAGS = """
lineinfo|generate-line-info use_fast_math m64 restrict keep|save-temps objtemp|objdir-as-tempdir
allow-unsupported-compiler expt-extended-lambda|extended-lambda
dlto|dlink-time-opt lto gen-opt-lto nohdinitlist|no-host-device-initializer-list
nohdmoveforward|no-host-device-move-forward noprof|dont-use-profile extra-device-vectorization
keep-device-functions src-in-ptx|source-in-ptx res-usage|resource-usage
ewp|extensible-whole-program no-compress err-no|display-error-number
no-err-no|no-display-error-number nodlink|no-device-link no-align-double
use-local-env Wreorder Wdefault-stream-launch Wmissing-launch-bounds Wext-lambda-captures-this
Wno-deprecated-gpu-targets jobserver reloc-ptx|relocatable-ptx
"""
ACCEPTED_VALUES = """
Xptxas|ptxas-options Xnvlink|nvlink-options Xfatbin Xcudafe Xarchive|archive-options
maxrregcount ftz prec-div prec-sqrt default-stream t|threads split-compile
split-compile-extended keep-dir cudadevrt ldir|libdevice-directory target-dir|target-directory
opt-info|optimization-info Ofc|Ofast-compile dopt m|machine e|entries time
diag-error diag-suppress diag-warn Werror brief-diag|brief-diagnostics
static-global-template-stub device-entity-has-hidden-visibility jtd|jump-table-density
device-stack-protector compress-mode frandom-seed hls|host-linker-script arbin|archiver-binary
"""
REFUSED = "cuda cubin fatbin ptx optix-ir ltoir"
JOINED = "IDULlOtm"  # -O3, -Ifolder

# All that nvcc has ever known, so that old makefiles work.
ARCHITECTURES = set(
    "10 11 12 13 20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 110 120"
    " 121".split()
)

# Libraries of the CUDA toolkit: part of the runtime here, an archive of their own, or not there.
RUNTIME = {"cudart", "cudadevrt", "cuda", "nvToolsExt", "culibos"}
OTHERS = {"cublas", "cublasLt", "curand", "nccl"}
MISSING = {
    "cufft": "cuFFT",
    "cufftw": "cuFFT",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "cudnn": "cuDNN",
    "nvrtc": "NVRTC",
    "nvidia-ml": "NVML",
    "nvjpeg": "nvJPEG",
    "cutensor": "cuTENSOR",
}
LAYERS = ["api", "checks", "context", "observers", "engine", "base"]

C_PLUS_PLUS = {".cpp", ".cc", ".cxx", ".c++", ".C"}
LINKED = {".o", ".obj", ".a", ".so", ".lib"}


class Failed(Exception):
    """What went wrong has been said."""


class Stopped(Exception):
    """A signal asks us to end."""


def fatal(sentence: str) -> NoReturn:
    print(f"cpucc fatal   : {sentence}", file=sys.stderr)
    raise Failed


def names(text: str) -> Dict[str, str]:
    """All names of a list of options, and what each is called here."""
    found = {}
    for word in text.split():
        first, *others = word.split("|")
        for name in (first, *others):
            found[name] = first
    return found


FLAG_NAMES, VALUE_NAMES = names(FLAGS), names(VALUES)
ACCEPTED_FLAG_NAMES, ACCEPTED_VALUE_NAMES = names(ACCEPTED_FLAGS), names(ACCEPTED_VALUES)
REFUSED_NAMES = set(REFUSED.split())


class Options:
    """The command line."""

    def __init__(self) -> None:
        self.flags: Set[str] = set()
        self.values: Dict[str, List[str]] = {}
        # kind (cu, c++, c, link, library, option, unknown), and the path, name or linker's option
        self.files: List[Tuple[str, str]] = []
        self.host: List[str] = []  # for the host compiler, as they are
        self.language = ""
        self.links = False  # as LINKER

    def last(self, name: str, default: str = "") -> str:
        return self.values.get(name, [default])[-1]

    def all(self, name: str) -> List[str]:
        return self.values.get(name, [])

    def read(self, arguments: Sequence[str], depth: int = 0) -> None:
        if depth > 20:
            fatal("Files of options name each other without end")
        rest = list(arguments)
        if any(FLAG_NAMES.get(a.lstrip("-")) == "forward" for a in rest):
            self.flags.add("forward")
        while rest:
            argument = rest.pop(0)
            if argument.startswith("@") and len(argument) > 1:
                self.read(words_of(argument[1:]), depth + 1)
            elif not argument.startswith("-"):
                self.add_file(argument)
            else:
                self.read_option(argument, rest, depth)

    def read_option(self, argument: str, rest: List[str], depth: int) -> None:
        name, equals, value = argument.lstrip("-").partition("=")
        if not equals and name in FLAG_NAMES:
            self.flags.add(FLAG_NAMES[name])
            return
        if not equals and name in ACCEPTED_FLAG_NAMES:
            return
        if name in REFUSED_NAMES:
            fatal(f"'{argument}' asks for a GPU's code, and the CPU device has none")
        takes_value = name in VALUE_NAMES or name in ACCEPTED_VALUE_NAMES
        if not takes_value and argument[1] in JOINED and argument[2:]:
            name, equals, value, takes_value = argument[1], "=", argument[2:], True
        if takes_value:
            if not equals:
                if not rest:
                    fatal(f"'{argument}' needs a value after it")
                value = rest.pop(0)
            if name in VALUE_NAMES:
                self.set(VALUE_NAMES[name], value, depth)
        elif self.links:
            self.files.append(("option", argument))  # its place may matter: -Wl,--whole-archive
        elif argument.startswith("-W") or "forward" in self.flags:
            self.host.append(argument)  # (nvcc wants -Xcompiler before -Wall)
        else:
            fatal(
                f"Unknown option '{argument}' (if it is the host compiler's: -Xcompiler {argument})"
            )

    def set(self, name: str, value: str, depth: int) -> None:
        if name in ("Xcompiler", "Xlinker"):
            found = self.values.setdefault(name, [])
            for part in re.split(r"(?<!\\),", value):
                found += shell_words(part.replace("\\,", ","), f"The value of '-{name}'")
            # The standard is that of -std, whoever is told: the headers need C++20.
            standards = [o for o in found if re.match(r"-std=(?:c|gnu)\+\+", o)]
            if standards:
                found[:] = [o for o in found if o not in standards]
                self.values["std"] = [o[5:] for o in standards] + self.values.get("std", [])
        elif name == "l":
            self.files.append(("library", value))
        elif name == "x":
            if value not in ("cu", "c++", "c", "none"):
                fatal(f"'{value}' is no language for '-x': cu, c++ or c")
            self.language = "" if value == "none" else value
        elif name == "fmad" and value not in ("true", "false"):
            fatal(f"'{value}': expected true or false after '-fmad'")
        elif name == "optf":
            for file in value.split(","):
                self.read(words_of(file), depth + 1)
        else:
            if name in ("arch", "code", "gencode"):
                check_architecture(value)
            self.values.setdefault(name, []).append(value)

    def add_file(self, path: str) -> None:
        ending = os.path.splitext(path)[1]
        of_toolkit = re.fullmatch(r"lib(\w+)\.(?:so|a)", os.path.basename(path))
        if of_toolkit and os.path.realpath(os.path.dirname(path)) == LIBRARIES:
            kind, path = "library", of_toolkit[1]  # CMake names it by its path
        elif ending in LINKED or re.search(r"\.so\.[0-9.]+$", path):
            kind = "link"
        elif self.language:
            kind = self.language
        elif ending == ".cu":
            kind = "cu"
        elif ending in C_PLUS_PLUS:
            kind = "c++"
        elif ending == ".c":
            kind = "c"
        else:
            kind = "unknown"
        self.files.append((kind, path))


def check_architecture(text: str) -> None:
    for word in re.findall(r"[^\s,=\[\]\"']+", text):
        if word in ("arch", "code", "native", "all", "all-major"):
            continue
        match = re.fullmatch(r"(?:sm|compute|lto)_([0-9]+)[af]?", word)
        if match is None or match[1] not in ARCHITECTURES:
            fatal(f"Unsupported gpu architecture '{word}'")


def shell_words(text: str, where: str) -> List[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        fatal(f"{where} has a quote or a backslash with nothing after it: {text} ({error})")


def words_of(path: str) -> List[str]:
    """The options in a file."""
    check_input(path)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return shell_words(file.read(1 << 20), f"'{path}'")


def check_input(path: str) -> None:
    """Before a compiler opens what might never end."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        fatal(f"'{path}' cannot be read: {error.strerror}")
    if stat.S_ISDIR(mode):
        fatal(f"'{path}' cannot be read: it is a directory")
    if not stat.S_ISREG(mode):
        fatal(f"'{path}' cannot be read: it is no file but a device, a FIFO or a socket")


class Output:
    """A file that gets its name when it is complete; `with` gives the path to write to."""

    def __init__(self, path: str, work: str, inputs: Sequence[str]) -> None:
        self.path = path
        folder, base = os.path.split(path)
        if os.path.isdir(path):
            fatal(f"'{path}' cannot be written: it is a directory")
        if not os.path.isdir(folder or "."):
            fatal(f"'{path}' cannot be written: there is no directory '{folder}'")
        if not os.access(folder or ".", os.W_OK):
            fatal(f"'{path}' cannot be written: no permission to write to '{folder or '.'}'")
        for source in inputs:
            if os.path.exists(path) and os.path.samefile(path, source):
                fatal(f"'{path}' is an input: it would be overwritten")
        # /dev/null stays what it is.
        self.special = os.path.exists(path) and not os.path.isfile(path)
        self.part = (
            os.path.join(work, "output")
            if self.special
            else os.path.join(folder, f".{base[:100]}.cpucc-{os.getpid()}")
        )

    def __enter__(self) -> str:
        return self.part

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None and os.path.exists(self.part):
                if self.special:
                    with open(self.part, "rb") as source, open(self.path, "wb") as target:
                        target.write(source.read())
                else:
                    os.replace(self.part, self.path)
        except OSError as problem:
            fatal(f"'{self.path}' cannot be written: {problem.strerror}")
        finally:
            remove(self.part)


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def make_words(text: str) -> List[str]:
    """The files after the colon of a makefile's first rule."""
    text = text.replace("\\\n", " ").split("\n")[0]
    text = re.sub(r"^.*?:(?=\s)", "", text, count=1)
    found = re.findall(r"(?:\\[ #]|\S)+", text)
    return [re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in found]


def make_escape(path: str) -> str:
    return re.sub(r"([ #])", r"\\\1", path.replace("$", "$$"))


def is_toolkit(folder: str) -> bool:
    """Makefiles name the folder of CUDA's headers. NVIDIA's must not be found before ours, and ours
    do not belong to the program: the rewriter would take `threadIdx` for a variable of the host."""
    return os.path.isfile(os.path.join(folder, "cuda_runtime.h"))


class Driver:
    def __init__(self, options: Options, work: str) -> None:
        self.options = options
        self.work = work
        self.made = 0
        self.compiler = self.find_compiler()
        self.settings = read_settings()

    # ---- Commands ----

    def find_compiler(self) -> str:
        chosen = self.options.last("ccbin") or os.environ.get("NVCC_CCBIN", "") or "g++"
        return os.path.join(chosen, "g++") if os.path.isdir(chosen) else chosen

    def is_clang(self) -> bool:
        return "clang" in os.path.basename(self.compiler)

    def run(self, command: List[str]) -> None:
        if self.options.flags & {"dryrun", "v"}:
            print("#$", shlex.join(command), file=sys.stderr)
        if "dryrun" in self.options.flags:
            return
        Signals.wait = True  # nobody would end a child that is half started
        try:
            # What the compiler leaves behind goes with our own folder.
            child = subprocess.Popen(command, env={**os.environ, "TMPDIR": self.work})
        except OSError as error:
            fatal(f"'{command[0]}' cannot be run: {error.strerror}")
        try:
            Signals.wait = False
            if Signals.number:
                raise Stopped(Signals.number)
            code = child.wait()
        except BaseException:
            child.terminate()
            child.wait()
            raise
        if code < 0:
            fatal(f"'{command[0]}' was ended by signal {-code}")
        if code != 0:
            raise Failed

    def temporary(self, name: str) -> str:
        self.made += 1
        folder = os.path.join(self.work, str(self.made))
        os.mkdir(folder)
        return os.path.join(folder, name)

    # ---- Compiling ----

    def folders(self) -> List[str]:
        return [f for f in self.options.all("I") if not is_toolkit(f)]

    def rewrite(self, source: str) -> Tuple[str, List[str]]:
        """The C++ of a CUDA file, and the files it was made from."""
        target = self.temporary(os.path.basename(source) + ".cpp")
        command = [REWRITER, os.path.join(".", source), "--output", target]
        command += ["--depfile", target + ".d"]
        if self.options.last("rdc") != "true" and "dc" not in self.options.flags:
            command += ["--whole-program"]
        if "expt-relaxed-constexpr" in self.options.flags:
            command += ["--relaxed-constexpr"]
        for folder in self.folders():
            command += ["-I", folder]
        self.run(command)
        if "dryrun" in self.options.flags:
            return target, []
        with open(target + ".d", encoding="utf-8", errors="surrogateescape") as file:
            return target, make_words(file.read())

    def preprocessing(self, kind: str) -> List[str]:
        """Where headers are found, and what they are told."""
        result: List[str] = []
        for folder in self.folders():
            result += ["-I", folder]
        for folder in self.options.all("isystem"):
            if not is_toolkit(folder):
                result += ["-isystem", folder]
        result += ["-isystem", HEADERS]
        if kind != "c":
            thrust = self.settings["thrust"]
            if thrust:
                result += ["-isystem", thrust]
                if os.path.isdir(os.path.join(thrust, "cuda", "std")):
                    result += ["-DCCCL_DISABLE_FP16_SUPPORT"]
            result += ["-DCPU_DEVICE_ANY_RUNTIME=1"]
        result += ["-D" + name for name in self.options.all("D")]
        return result + ["-U" + name for name in self.options.all("U")]

    def standard(self) -> str:
        """The headers need C++20; what is newer may be asked for."""
        asked = re.sub(r"^(?:gnu|c)\+\+", "", self.options.last("std"))
        if asked and not re.fullmatch(r"0[3x]|98|1[147xyz]|2[036abc]", asked):
            fatal(f"'{self.options.last('std')}' is no language for '-std'")
        return "-std=gnu++" + (asked if asked in ("23", "2b", "26", "2c") else "20")

    def translation(self, kind: str) -> List[str]:
        """What code is made."""
        options = self.options
        result = [] if kind == "c" else [self.standard()]
        result += ["-O" + (options.last("O") or ("0" if "G" in options.flags else "2"))]
        # Reports name lines. (-gdwarf-4: clang's version 5 would name the rewritten file.)
        result += ["-g" if options.flags & {"g", "G"} else "-g1", "-gdwarf-4"]
        if "pg" in options.flags:
            result += ["-pg"]
        if "w" in options.flags:
            result += ["-w"]
        if "noeh" in options.flags:
            result += ["-fno-exceptions"]
        for name in ("ftemplate-depth", "ftemplate-backtrace-limit"):
            if options.last(name):
                result += [f"-{name}={options.last(name)}"]
        if kind == "cu":
            # Kernels often read memory as another type: eight halves as one uint4.
            result += ["-fno-strict-aliasing", "-Wno-unknown-pragmas", *self.contraction()]
            result += ["-Wno-pass-failed" if self.is_clang() else "-fno-var-tracking"]
            if "check" in options.flags:
                result += self.watching()
        return result + options.host + options.all("Xcompiler")

    def contraction(self) -> List[str]:
        """Whether a*b+c may be rounded once. Off by default: the same bits on every machine."""
        if self.options.last("fmad") != "true":
            return ["-ffp-contract=off"]
        # The compiler fuses nothing without the instruction, which x86-64 did not always have.
        return ["-ffp-contract=fast"] + (["-mfma"] if os.uname().machine == "x86_64" else [])

    def watching(self) -> List[str]:
        """cpu_device_check_options() of CMake has the same, and the reasons."""
        if self.is_clang():
            return [
                *("-fsanitize=thread,bounds", "-fno-vectorize"),
                *("-mllvm", "-tsan-distinguish-volatile=1"),
                *("-mllvm", "-tsan-instrument-read-before-write=1"),
            ]
        return [
            *("-fsanitize=thread,bounds,alignment", "-fno-tree-sra", "-fno-ipa-sra"),
            *("--param=tsan-distinguish-volatile=1", "-Wno-tsan"),
        ]

    def command_for(self, kind: str, source: str) -> Tuple[List[str], List[str]]:
        """All but what to do with the source and where to; and what the rewriter has read."""
        command = [self.compiler]
        made_from: List[str] = []
        if kind == "cu":
            command += ["-include", "cuda_runtime.h"]
        # CMake compiles this file to learn which compiler it has; the options are nvcc's.
        if os.path.basename(source) == "CMakeCUDACompilerId.cu":
            command += ["-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0"]
            command += ["-D__CUDACC_VER_BUILD__=0"]
        command += self.preprocessing(kind)
        for header in self.options.all("include"):
            check_input(header)
            command += ["-include", self.rewrite(header)[0] if kind == "cu" else header]
        command += self.translation(kind)
        if kind == "cu":
            rewritten, made_from = self.rewrite(source)
            # Only headers in quotes are found beside the source.
            command += ["-iquote", os.path.dirname(source) or "."]
            command += [f"-ffile-prefix-map={os.path.dirname(rewritten)}/="]
            source = rewritten
        return [*command, "-x", "c" if kind == "c" else "c++", source], made_from

    def compile(self, kind: str, source: str, target: str, named: str) -> None:
        """`named`: what the output will be called."""
        command, made_from = self.command_for(kind, source)
        flags = self.options.flags
        depends = self.temporary("d")
        if flags & {"MD", "MMD"}:
            command += ["-MMD" if "MMD" in flags else "-MD", "-MF", depends]
        self.run([*command, "-c", "-o", target])
        if flags & {"MD", "MMD"} and "dryrun" not in flags:
            path = self.options.last("MF") or os.path.splitext(named)[0] + ".d"
            self.write(path, self.rule(depends, made_from, named), [source])

    def write(self, path: str, text: str, inputs: Sequence[str]) -> None:
        with Output(path, self.work, inputs) as part:
            with open(part, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)

    def rule(self, depends: str, made_from: List[str], named: str) -> str:
        """An object's rule for a makefile, from what the compiler and the rewriter have read."""
        with open(depends, encoding="utf-8", errors="surrogateescape") as file:
            read = make_words(file.read())
        here = os.getcwd() + os.sep
        files: Dict[str, None] = {}
        for path in [*made_from, *read]:
            if not path.startswith(self.work + os.sep):
                files[path[len(here) :] if path.startswith(here) else path] = None
        if self.options.flags & {"MM", "MMD"}:
            system = (HEADERS + os.sep, "/usr/")
            files = {f: None for f in files if not f.startswith(system)}
        target = self.options.last("MT") or make_escape(named)
        escaped = [make_escape(f) for f in files]
        text = f"{target}: " + " \\\n  ".join(escaped) + "\n"
        if "MP" in self.options.flags:
            text += "".join(f"{f}:\n" for f in escaped[1:])
        return text

    def list_dependencies(self, kind: str, source: str) -> None:
        command, made_from = self.command_for(kind, source)
        depends = self.temporary("d")
        self.run([*command, "-MM" if "MM" in self.options.flags else "-M", "-MF", depends])
        if "dryrun" in self.options.flags:
            return
        text = self.rule(depends, made_from, object_name(source))
        path = self.options.last("MF") or self.options.last("o")
        if path:
            self.write(path, text, [source])
        else:
            sys.stdout.write(text)

    def preprocess(self, kind: str, source: str) -> None:
        command, _ = self.command_for(kind, source)
        path = self.options.last("o")
        if not path:
            self.run([*command, "-E"])
            return
        with Output(path, self.work, [source]) as part:
            self.run([*command, "-E", "-o", part])

    # ---- Linking ----

    def needs_shared_runtime(self, inputs: Sequence[str]) -> bool:
        """A process has one CPU device: if a shared library brings it along, all use that one."""
        candidates = [i for i in inputs if re.search(r"\.so(\.[0-9.]+)?$", i)]
        for name in inputs:
            if name.startswith("-l"):
                places = self.options.all("L")
                candidates += [os.path.join(p, f"lib{name[2:]}.so") for p in places]
        for path in candidates:
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    if b"\0libcpu_device.so" in file.read():
                        return True
        return False

    def link(self, inputs: List[str], target: str) -> None:
        """`inputs`: paths, and libraries as -lNAME, in the order they were given."""
        options = self.options
        command = [self.compiler, "-o", target]
        makes_library = "shared" in options.flags
        if makes_library:
            if "check" in options.flags:
                fatal("'--check' is for executables: link the files into one, without '-shared'")
            command += ["-shared"]
        if "pg" in options.flags:
            command += ["-pg"]
        command += options.host + options.all("Xcompiler")
        command += ["-L" + folder for folder in options.all("L")]
        mathematics = False
        for name in inputs:
            library = re.sub(r"_static$", "", name[2:]) if name.startswith("-l") else ""
            if library in MISSING:
                fatal(f"'{name}': the CPU device has no {MISSING[library]}")
            if library in OTHERS:
                mathematics = True
            elif library not in RUNTIME:
                command += [name]
        if mathematics:
            command += [os.path.join(LIBRARIES, "libcpu_device_libraries.a")]
            if self.settings["openblas"]:
                command += ["-Wl,--as-needed", "-lopenblas", "-Wl,--no-as-needed"]
        if (
            makes_library
            or options.last("cudart") == "shared"
            or self.needs_shared_runtime(inputs)
        ):
            command += ["-L" + LIBRARIES, "-lcpu_device", "-Wl,-rpath," + LIBRARIES]
        elif options.last("cudart") != "none":
            archives = [os.path.join(LIBRARIES, f"libcpu_device_{n}.a") for n in LAYERS]
            command += ["-Wl,--start-group", *archives, "-Wl,--end-group"]
        for word in options.all("Xlinker"):
            command += ["-Xlinker", word]
        self.run([*command, "-pthread", "-ldl"])

    # ---- All of it ----

    def tell_cmake(self) -> None:
        """What nvcc says of itself first, as far as CMake's enable_language(CUDA) reads it:
        folders, the architecture, and a line that links. CMake calls the first word of that line
        in place of the host compiler, with the host compiler's options. That one says what `g++ -v`
        says of the linker: CMake reads where a C++ compiler, when it links, finds the libraries."""
        libraries = shlex.quote("-L" + os.path.join(TOOLKIT, "lib64"))
        if self.options.links:
            print("ld", libraries, file=sys.stderr)
            return
        include = shlex.quote("-I" + os.path.join(TOOLKIT, "include"))
        for line in (
            f"TOP={TOOLKIT}",
            f"NVVMIR_LIBRARY_DIR={TOOLKIT}/nvvm/libdevice",
            f"INCLUDES={include}",
            f"LIBRARIES={libraries}",
            "true -arch compute_90",  # CMake wants a line between these and the one that links
            f"{shlex.quote(LINKER)} {libraries} -lcudadevrt -lcudart_static",
        ):
            print("#$", line, file=sys.stderr)

    def go(self) -> None:
        options = self.options
        if options.flags & {"dryrun", "v"}:
            self.tell_cmake()
        for kind, path in options.files:
            if kind == "unknown":
                fatal(f"Don't know what to do with '{path}' ('-x cu' before it makes it CUDA C++)")
        no_paths = ("library", "option")
        paths = [name for kind, name in options.files if kind not in no_paths]
        if not paths:
            fatal("No input files specified; use option --help for more information")
        for path in paths:
            check_input(path)
        sources = [f for f in options.files if f[0] not in ("link", *no_paths)]
        flags, named = options.flags, options.last("o")
        phases = flags & {"c", "dc", "dw", "E", "M", "MM"}
        if phases and named and len(sources) > 1:
            fatal("'-o' names one output, and there are several files to compile to objects")
        if flags & {"M", "MM"}:
            for kind, source in sources:
                self.list_dependencies(kind, source)
        elif "E" in flags:
            for kind, source in sources:
                self.preprocess(kind, source)
        elif phases:
            for kind, source in sources:
                target = named or os.path.join(options.last("odir"), object_name(source))
                with Output(target, self.work, paths) as part:
                    self.compile(kind, source, part, target)
        elif "dlink" in flags:
            # Device code is linked with the rest, but makefiles want an object of this step.
            with Output(named or "a_dlink.o", self.work, paths) as part:
                self.run([self.compiler, "-x", "c++", "-c", "-fPIC", "/dev/null", "-o", part])
        else:
            self.build(paths)

    def build(self, paths: List[str]) -> None:
        objects = []
        makes_archive = "lib" in self.options.flags
        target = self.options.last("o") or ("a.a" if makes_archive else "a.out")
        with Output(target, self.work, paths) as part:
            for kind, name in self.options.files:
                if kind == "library":
                    objects.append("-l" + name)
                elif kind in ("link", "option"):
                    objects.append(name)
                else:
                    compiled = self.temporary(object_name(name))
                    self.compile(kind, name, compiled, target)
                    objects.append(compiled)
            if makes_archive:
                self.run(["ar", "rcs", part, *[o for o in objects if not o.startswith("-")]])
            else:
                self.link(objects, part)


def object_name(source: str) -> str:
    return os.path.splitext(os.path.basename(source))[0] + ".o"


def read_settings() -> Dict[str, str]:
    """What the CPU device was built with."""
    path = os.path.join(LIBRARIES, "settings.json")
    try:
        with open(path, encoding="utf-8") as file:
            settings: Dict[str, str] = json.load(file)
            return settings
    except (OSError, ValueError):
        fatal(f"The CPU device is not where cpucc expects it: '{path}' cannot be read")


class Signals:
    """The one that asks us to end, and whether it has to wait."""

    number = 0
    wait = False


def stop(number: int, frame: object) -> None:
    Signals.number = number
    if not Signals.wait:
        raise Stopped(number)


def remove_tree(folder: str) -> None:
    for top, folders, files in os.walk(folder, topdown=False):
        for name in files:
            remove(os.path.join(top, name))
        for name in folders:
            os.rmdir(os.path.join(top, name))
    os.rmdir(folder)


def main(arguments: List[str]) -> int:
    before, after = (os.environ.get(f"NVCC_{n}_FLAGS", "") for n in ("PREPEND", "APPEND"))
    work: Optional[str] = None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        options = Options()
        options.links = os.path.basename(sys.argv[0]) == os.path.basename(LINKER)
        options.read(
            [
                *shell_words(before, "NVCC_PREPEND_FLAGS"),
                *arguments,
                *shell_words(after, "NVCC_APPEND_FLAGS"),
            ]
        )
        if "h" in options.flags:
            print(HELP, end="")
            return 0
        if "V" in options.flags:
            print(f"cpucc: CUDA for the CPU device, version {read_settings()['version']}")
            print("in place of nvcc: NVIDIA (R) Cuda compiler driver")  # both lines are parsed
            print("Cuda compilation tools, release 13.0, V13.0.0")
            return 0
        if "toolkit" in options.flags:
            print(TOOLKIT)
            return 0
        place = os.environ.get("TMPDIR") or "/tmp"
        folder = os.path.join(place, f"cpucc-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            os.mkdir(folder, 0o700)
        except OSError as error:
            fatal(f"'{place}' takes no temporary files: {error.strerror}")
        work = folder
        Driver(options, work).go()
        return 0
    except Failed:
        return 1
    except Stopped as signalled:
        return 128 + int(signalled.args[0])
    finally:
        Signals.wait = True
        if work is not None:
            remove_tree(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
