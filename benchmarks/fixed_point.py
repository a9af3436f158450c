"""The fixed point of a change of the code's structure: the jobs of a dry run, and the
bytes of a run's results.

    python benchmarks/fixed_point.py jobs before.json --configfile config/smoke.yaml
    python benchmarks/fixed_point.py files before.json results/smoke
    python benchmarks/fixed_point.py compare before.json after.json      # exit 1 where they differ

`jobs` plans every job (`snakemake -n --forceall`), whatever is on disk; call it in the
root of the project, with that project's environment. Of results, times, memory, logs
and the report's text are left out.
"""

import argparse
import hashlib
import json
import logging
import sys
from pathlib import Path

CHECKED = ("corpora", "vocabularies", "allocation", "tokenizers")
SCORES = ("pretraining/**/*.safetensors", "finetuning/**/scores.tsv", "finetuning/**/predictions/*")
TIMED = ("summary.json",)  # of an allocation: seconds of its computation


class Jobs(logging.Filter):
    """Collects the jobs that Snakemake's logger names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(getattr(record, "event", None), "value", None) == "job_info":
            wildcards = " ".join(
                f"{name}={value}" for name, value in sorted((record.wildcards or {}).items())
            )
            outputs, inputs = (sorted(map(str, files)) for files in (record.output, record.input))
            name = f"{record.rule_name} {wildcards}".strip()
            if name in self.found:  # rules made in a loop
                name = f"{name} {outputs[:1]}"
            self.found[name] = {
                "input": inputs,
                "output": outputs,
                "benchmark": str(record.benchmark),
            }
            return False
        return True


def plan_jobs(arguments: list[str]) -> dict[str, dict]:
    from snakemake.cli import main
    from snakemake.logging import logger

    jobs = Jobs()
    logger.addFilter(jobs)
    words = ["-n", "--forceall", "--cores", "2", "-p", *arguments]
    sys.argv = ["snakemake", *words]
    try:
        main(words)
    except SystemExit as end:
        if end.code:
            raise
    return jobs.found


def hash_files(results: Path) -> dict[str, str]:
    found = [path for stage in CHECKED for path in (results / stage).rglob("*")]
    found += [path for pattern in SCORES for path in results.glob(pattern)]
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(found)
        if path.is_file() and path.name not in TIMED and ".snakemake" not in path.name
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["jobs", "files", "compare"])
    parser.add_argument("record", type=Path)
    parser.add_argument("other", nargs="?", type=Path, help="results folder, or the second record")
    own, words = parser.parse_known_args()
    if own.command == "compare":
        before, after = (json.loads(path.read_text()) for path in (own.record, own.other))
        for sign, names in (("-", before.keys() - after), ("+", after.keys() - before)):
            for name in sorted(names):
                print(sign, name)
        changed = sorted(name for name in before.keys() & after if before[name] != after[name])
        for name in changed:
            print("!", name, before[name], after[name], sep="\n    ")
        print(f"{len(before)} and {len(after)}, {len(changed)} changed")
        return int(before != after)
    record = plan_jobs(words) if own.command == "jobs" else hash_files(own.other)
    own.record.write_text(json.dumps(record, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    print(f"{len(record)} {own.command} in {own.record}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
