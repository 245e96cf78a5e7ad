"""Where the programs begin: Ctrl-C is answered from the first moment, before anything large is imported."""

import os
import signal
from functools import partial
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


def _run(program: str) -> None:
    leave_when_interrupted()
    from maar.cli import main  # noqa: PLC0415

    main.run_program(program)


maar: Final = partial(_run, "maar")
kubectl_maar: Final = partial(_run, "kubectl maar")  # the same commands as a kubectl plugin
vcctl: Final = partial(_run, "vcctl")
vsub: Final = partial(_run, "vsub")
vjobs: Final = partial(_run, "vjobs")
vcancel: Final = partial(_run, "vcancel")
vsuspend: Final = partial(_run, "vsuspend")
vresume: Final = partial(_run, "vresume")
