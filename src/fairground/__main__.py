"""`python -m fairground` is the `fairground` command; torchrun starts it so."""

from fairground.cli.main import main

if __name__ == "__main__":
    main()
