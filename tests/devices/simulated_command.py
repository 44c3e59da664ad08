"""`python -m tests.devices.simulated_command ARGUMENTS`: the `fairground` command on a machine with two devices."""

from tests.devices import simulated  # noqa: F401 - before fairground

if __name__ == "__main__":
    from fairground.__main__ import main

    main()
