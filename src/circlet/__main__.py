"""``python -m circlet``: the command line."""

import sys

try:
    from circlet.cli import main

    main()
except KeyboardInterrupt:  # before `main` could see to it
    sys.exit("interrupted")
