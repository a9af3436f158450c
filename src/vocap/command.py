"""The entry of the `vocap` command: it can be interrupted before anything else is imported."""

from vocap.interruption import exit_after


def main() -> None:
    """Run the command line and exit."""

    def run() -> int:
        from vocap.cli import run

        return run()

    exit_after(run)
