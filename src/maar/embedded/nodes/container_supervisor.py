"""Runs one container as a process and stays until nothing is left of it: a program of its own.

It uses the standard library alone, so that it starts in a few milliseconds. What to run is JSON in
the file descriptor that its argument names. SIGTERM is passed on to the container, SIGUSR1 kills
it. Lines of JSON report who supervises, that the container has started or why it could not, and at
the end how it ended. They go to standard output, for the server that started it, and to a file, the
record, for the server after that one: when standard input ends the server is gone, and the
container runs on, to be found again. Where it may not run on, and where the record is removed,
everything that descends from the container is killed.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Final, NoReturn, TypedDict

LONGEST_LINE: Final = 16 << 10  # longer ones are written in parts
CHECK_EVERY: Final = 0.2  # seconds between looks at the memory of a container, and at its record
KILL_TIMEOUT: Final = 10.0  # seconds for killed processes to go: one that waits for a dead disk may never

_CHUNK: Final = 64 << 10
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_ADOPT_ORPHANS: Final = 36  # PR_SET_CHILD_SUBREAPER


class RunRequest(TypedDict):
    """What to run, and what it may use."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    log: str
    log_bytes: int  # of one file; as much again is kept of what came before
    memory: int  # bytes that all processes of the container may use together
    process_memory: int  # bytes of data that one process may ask for at all
    cpus: list[int]  # where it may run; anywhere if empty
    niceness: int
    record: str  # where to report for a later server
    outlives: bool  # whether the container runs on where the server is gone
    cgroup: str  # the folder of a cgroup that limits it; empty where there is none


def main() -> None:
    """Run the container that the argument describes."""
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as file:
        run_request: RunRequest = json.load(file)
    _prctl(_ADOPT_ORPHANS, 1)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)  # the numbers of signals come out of the pipe
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: None)
    record = Record(run_request["record"])
    record.report(supervisor=os.getpid(), began=began(os.getpid()), boot=boot(), cpus=run_request["cpus"])
    if select.select([0], [], [], 0)[0]:  # no server is left that knows of this start
        record.remove()
    else:
        Container(run_request, record, woken).run()


class Record:
    """Reports to the server, and to a file for a later one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    @property
    def is_there(self) -> bool:
        """Whether the file is still there: a server removes those of pods that it no longer knows."""
        return os.path.exists(self._path)  # noqa: PTH110  a hundred pathlib objects a second for nothing

    def report(self, **facts: object) -> None:
        """Report something."""
        line = json.dumps(facts).encode() + b"\n"
        for file in (self._file, 1):
            with contextlib.suppress(OSError):  # a full disk, or no server, must not stop the container
                os.write(file, line)

    def remove(self) -> None:
        """Leave no trace of a container that was never started."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)  # noqa: PTH108


class Container:
    """The process of a container, its output and whatever it started."""

    def __init__(self, run_request: RunRequest, record: Record, woken: int) -> None:
        self._run_request, self._record, self._woken = run_request, record, woken
        self._log = Log(Path(run_request["log"]), run_request["log_bytes"])
        self._exit_code: int | None = None
        self._ran_out = False
        self._looked = 0.0
        self._output, output = os.pipe()
        trouble, problem_pipe = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _become(run_request, output, problem_pipe)
        os.close(output)
        os.close(problem_pipe)
        os.set_blocking(self._output, False)
        with os.fdopen(trouble, encoding="utf-8") as file:
            self._trouble = file.read()  # ends when the command has taken the place of the child

    def run(self) -> None:
        """Wait until the container has ended, and report how."""
        if self._trouble:
            self._record.report(failed=self._trouble)
            _remove_cgroup(self._run_request["cgroup"])
            return
        self._record.report(pid=self._pid)
        sources = [0, self._output, self._woken]
        while self._exit_code is None:
            for source in select.select(sources, [], [], CHECK_EVERY)[0]:
                if source == 0:
                    sources.remove(0)
                    if not self._run_request["outlives"]:
                        self._end_all()
                        sys.exit()
                elif source == self._woken:
                    self._handle_signals(os.read(self._woken, _CHUNK))
                elif not self._copy():
                    sources.remove(self._output)
            self._reap()
            self._check()
        self._end_all()
        while self._copy():
            pass
        self._log.close()
        if self._exit_code and _was_out_of_memory(self._run_request["cgroup"]):
            self._ran_out = True
        _remove_cgroup(self._run_request["cgroup"])
        self._record.report(exit_code=self._exit_code, out_of_memory=self._ran_out, at=time.time())

    def _handle_signals(self, numbers: bytes) -> None:
        if signal.SIGUSR1 in numbers:
            os.kill(self._pid, signal.SIGKILL)
        elif signal.SIGTERM in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGTERM)

    def _copy(self) -> bool:
        """Copy the container's output to its log; False when there is no more."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        self._log.write(data)
        return bool(data)

    def _check(self) -> None:
        """Kill a container that uses more memory than it may, or whose pod is gone, if it is time to look."""
        now = time.monotonic()
        if now - self._looked < CHECK_EVERY or self._exit_code is not None:
            return
        self._looked = now
        if not self._run_request["cgroup"] and _exceeds(self._pid, self._run_request["memory"]):
            self._ran_out = True
            os.kill(self._pid, signal.SIGKILL)
        elif not self._record.is_there:
            os.kill(self._pid, signal.SIGKILL)

    def _reap(self) -> bool:
        """Reap ended processes, orphans included; False where no process is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                code = os.waitstatus_to_exitcode(status)
                self._exit_code = 128 - code if code < 0 else code

    def _end_all(self) -> None:
        """Kill everything that descends from the container, again and again until nothing is left."""
        deadline = time.monotonic() + KILL_TIMEOUT
        if self._run_request["cgroup"]:
            _write(f"{self._run_request['cgroup']}/cgroup.kill", "1")
        while self._reap() and time.monotonic() < deadline:
            for pid in _descendants():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if sys.platform != "linux":  # where descendants cannot be found, the group has to do
                os.killpg(self._pid, signal.SIGKILL)
            time.sleep(0.005)


class Log:
    """Lines with their times, in a file that is set aside when it is full: `F` ends a line, `P` does not."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._path, self._most = path, most_bytes
        self._open()
        self._rest = b""

    def write(self, data: bytes) -> None:
        """Write whole lines, and keep the beginning of one that is not whole yet."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        stamp = _stamp()
        whole, part = stamp + b" F ", stamp + b" P "
        written: list[bytes] = []
        for line in lines:
            if len(line) <= LONGEST_LINE:
                written += (whole, line, b"\n")
            else:
                last = _write_parts(written, part, line)
                written += (whole, last, b"\n")
        self._rest = _write_parts(written, part, self._rest)
        self._put(b"".join(written))

    def close(self) -> None:
        """Write what came without the end of a line."""
        if self._rest:
            self._put(_stamp() + b" P " + self._rest + b"\n")
        os.close(self._file)

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk must not stop the container
            if self._size and self._size + len(data) > self._most:
                os.close(self._file)
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                self._open()
            self._size += os.write(self._file, data)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._size = os.fstat(self._file).st_size


def _become(run_request: RunRequest, output: int, problem_pipe: int) -> NoReturn:
    """Turn this fresh child into the container's command, or tell why that cannot be."""
    try:
        os.setsid()
        _prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(ignored, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if run_request["cgroup"]:
            Path(run_request["cgroup"], "cgroup.procs").write_text("0", encoding="utf-8")
        _limit(run_request)
        os.chdir(run_request["folder"])
    except (OSError, ValueError) as error:
        os.write(problem_pipe, str(error).encode())
        os._exit(1)
    command = run_request["command"]
    try:
        os.execvpe(command[0], command, run_request["environment"])  # noqa: S606  what a container is for
    except FileNotFoundError:
        os.write(problem_pipe, f'exec: "{command[0]}": executable file not found in $PATH'.encode())
    except (OSError, ValueError) as error:
        os.write(problem_pipe, f'exec: "{command[0]}": {error}'.encode())
    os._exit(1)


def _limit(run_request: RunRequest) -> None:
    os.nice(run_request["niceness"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most, allowed = run_request["process_memory"], resource.getrlimit(resource.RLIMIT_DATA)[1]
    if allowed == resource.RLIM_INFINITY or most < allowed:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if sys.platform == "linux" and run_request["cpus"]:
        os.sched_setaffinity(0, run_request["cpus"])


def _exceeds(pid: int, limit: int) -> bool:
    """Whether a process and its descendants use more memory than that, what they share counted once."""
    waiting, tree = [pid, *_children(os.getpid())], set[int]()
    while waiting:
        if (one := waiting.pop()) not in tree:
            tree.add(one)
            waiting += _children(one)
    # Resident pages are quick to count, and too many: forked processes share them, and files are not theirs.
    return sum(map(_resident, tree)) > limit and sum(map(_own, tree)) > limit


def _children(pid: int) -> list[int]:
    """The processes that a process has started or adopted, where the kernel tells."""
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, _read(tasks).split())
    return found


def _descendants() -> list[int]:
    """All processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        _, _, fields = _read(path).rpartition(")")  # the name before may contain anything
        if fields:
            children.setdefault(int(fields.split()[1]), []).append(int(path.parent.name))
    found = children.get(os.getpid(), [])
    for pid in found:
        found += children.get(pid, [])
    return found


def _resident(pid: int) -> int:
    fields = _read(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * resource.getpagesize() if fields else 0


def _own(pid: int) -> int:
    lines = _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


def _read(path: Path) -> str:
    """A file of a process, empty where the process is gone or not ours to look into."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def began(pid: int) -> str:
    """When a process began, as the kernel counts it: with its number it is this process and no other."""
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if fields and fields[0] != "Z" else ""


def boot() -> str:
    """Which start of the machine this is."""
    return _read(Path("/proc/sys/kernel/random/boot_id")).strip()


def _was_out_of_memory(cgroup: str) -> bool:
    lines = _read(Path(cgroup, "memory.events")).splitlines() if cgroup else []
    return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)


def _remove_cgroup(cgroup: str) -> None:
    if cgroup:
        with contextlib.suppress(OSError):
            os.rmdir(cgroup)  # noqa: PTH106


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).write_text(text, encoding="utf-8")


def _write_parts(written: list[bytes], mark: bytes, line: bytes) -> bytes:
    """Write a long line in parts but for its end, which is given back."""
    start = 0
    while len(line) - start > LONGEST_LINE:
        written += (mark, line[start : start + LONGEST_LINE], b"\n")
        start += LONGEST_LINE
    return line[start:]


def _stamp() -> bytes:
    seconds, nanos = divmod(time.time_ns(), 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % nanos


def _prctl(option: int, value: int) -> None:
    """Ask the kernel something of this process, where it is Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
