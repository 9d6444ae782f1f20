"""``python -m circlet``: the command line."""

import os
import sys
from typing import NoReturn


def run() -> int:
    """Run the command; returns its exit status."""
    try:
        from circlet import job_server

        if (status := job_server.run()) is not None:
            return status
        from circlet.cli import main

        main()
    except ModuleNotFoundError as error:  # `main` reports packages that are imported later
        from circlet.errors import not_installed

        line = not_installed(error)
        if line is None:
            raise
        print(line, file=sys.stderr)
        return 1
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return 1
        return stop.code or 0
    except KeyboardInterrupt:  # before `main` could handle it
        print("interrupted", file=sys.stderr)
        return 130
    return 0


def main() -> NoReturn:
    """Run the command and end the process."""
    status = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader of a pipe, such as `| head`, has closed it
        status = 1
    # Exit at once: Python would need 0.2 s in every job to unload torch.
    os._exit(status)


if __name__ == "__main__":
    main()
