"""`fairground`, and `python -m fairground`, which torchrun starts."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it without a word."""
    try:
        from fairground.commands.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
