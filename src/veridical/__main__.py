"""`python -m veridical` is the command line."""

from __future__ import annotations

from veridical.cli import main

if __name__ == "__main__":
    main()
