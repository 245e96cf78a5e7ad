"""Where the programs begin: Ctrl-C is answered from the first moment, before anything large is imported."""

import os
import signal
from types import FrameType
from typing import Final, NoReturn

INTERRUPTED: Final = 130  # as shells say of programs that Ctrl-C ended


def leave_when_interrupted() -> None:
    """Let Ctrl-C end the process at once, with one line; whatever is on the disk survives kill -9 anyway."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_when_interrupted() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, for commands that have to clean up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def maar() -> None:
    """Run `maar`."""
    leave_when_interrupted()
    from maar.cli import main  # noqa: PLC0415

    main.maar()


def kubectl_maar() -> None:
    """Run `kubectl maar`, the same commands as a kubectl plugin."""
    leave_when_interrupted()
    from maar.cli import main  # noqa: PLC0415

    main.kubectl_maar()


def vcctl() -> None:
    """Run `vcctl`."""
    leave_when_interrupted()
    from maar.cli import main  # noqa: PLC0415

    main.vcctl()


def vsub() -> None:
    """Run `vsub`: submit a job, in Volcano's manner."""
    _volcano_program("vsub")


def vjobs() -> None:
    """Run `vjobs`: look at jobs, in Volcano's manner."""
    _volcano_program("vjobs")


def vcancel() -> None:
    """Run `vcancel`: delete a job, in Volcano's manner."""
    _volcano_program("vcancel")


def vsuspend() -> None:
    """Run `vsuspend`: suspend a job, in Volcano's manner."""
    _volcano_program("vsuspend")


def vresume() -> None:
    """Run `vresume`: resume a job, in Volcano's manner."""
    _volcano_program("vresume")


def _volcano_program(name: str) -> None:
    leave_when_interrupted()
    from maar.cli import main  # noqa: PLC0415

    main.volcano_program(name)
