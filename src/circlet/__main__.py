"""``python -m circlet``: the command line."""

from circlet.cli import main

if __name__ == "__main__":
    main()
