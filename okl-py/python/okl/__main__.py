"""The command line: `python -m okl`, and the script `okl` that comes with the package."""

import signal
import sys

from okl._okl import command_line


def main() -> int:
    """Runs the command given by the arguments of this process; returns its exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the command listens for itself: it saves, then ends
    return command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
