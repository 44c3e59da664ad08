"""fairground: the level field for deep metric learning."""

__version__ = "0.2.0"
