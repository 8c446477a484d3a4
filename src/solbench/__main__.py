"""The command line: ``solbench``, and ``python -m solbench`` without its script."""

import sys


def main() -> None:
    """Ctrl-C while the commands are being imported is told like any later one, not with a traceback."""
    try:
        from solbench.cli import main as run_command
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: stopped by the user\n")
        raise SystemExit(130) from None
    run_command()


if __name__ == "__main__":
    main()
