"""The environments of clients: one each, made once and kept.

They lie in the folder that VOCAP_CLIENTS names, by default `vocap-clients` in the
user's folder for caches, under the client's name and a hash of its packages.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(os.environ.get("VOCAP_CLIENTS") or Path.home() / ".cache" / "vocap-clients")


class NotInstalledError(Exception):
    """The client cannot be installed here; the message is the reason."""


def prepare(name: str, language: str, packages: Sequence[str], alone: Sequence[str] = ()) -> Path:
    """The folder in which a client's packages are, in `language` python or node; those
    `alone` are without the packages that they depend on.

    Raises NotInstalledError, with the last line that the installer said.
    """
    lock = "\n".join([language, f"{sys.version_info[:2]}", *packages, *alone])
    folder = CACHE / f"{name}-{hashlib.sha256(lock.encode()).hexdigest()[:12]}"
    if not folder.exists():
        partial = folder.with_suffix(f".{os.getpid()}")
        try:
            install(partial, language, packages)
            if alone:
                install(partial, language, ["--no-deps", *alone])
            os.replace(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def install(folder: Path, language: str, packages: Sequence[str]) -> None:
    """Install packages of one language into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if language == "python":
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        command = [*pip, "--disable-pip-version-check", "--no-warn-conflicts", *packages]
    else:
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        options = ["--no-audit", "--no-fund", "--package-lock=false", "--omit=optional"]
        command = ["npm", "install", "--ignore-scripts", *options, *packages]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"{command[0]}: {error}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise NotInstalledError(f"{' '.join(packages)}: {said[-1]}")


def run_program(folder: Path, language: str, program: Path, request: Path, answer: Path) -> None:
    """Run a client's program on a request; it writes its answer.

    The interpreter sees the client's packages alone, and none of this project's.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if language == "python":
        found = kept | {"PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1", "HF_HUB_OFFLINE": "1"}
        base = getattr(sys, "_base_executable", sys.executable)
        command = [base, str(program), str(request), str(answer)]
    else:
        found = kept
        shutil.copy(program, folder / program.name)  # node looks for packages beside a program
        command = ["node", str(folder / program.name), str(request), str(answer)]
    done = subprocess.run(command, env=found, capture_output=True, text=True, timeout=3600)
    if done.returncode or not answer.is_file():
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {done.stderr[-2000:]}")
