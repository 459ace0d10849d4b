"""The command line. `main` is the entry point; everything else loads when it is called."""

from __future__ import annotations


def main() -> None:
    import sys

    from veridical.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ✓, or a file name that is not Unicode, must not end in an error.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    app(prog_name="veridical")
