"""The lines of a dry run: changed parameters by rule, and few lines for many jobs."""

from tests.workflow.conftest import parse_counts


def test_a_dry_run_after_an_edit_names_what_changed(finished):
    finished.write_config(seed=7)
    run = finished.snakemake("-n")
    assert run.returncode == 0, run.stdout
    _, _, end = run.stdout.partition("Parameters that have changed since the last run:\n")
    assert "  sample (3 jobs): --seed=1 -> --seed=7" in end, run.stdout[-3000:]


def test_a_dry_run_of_an_unchanged_run_names_nothing(finished):
    assert "Parameters that have changed" not in finished.snakemake("-n").stdout


def test_the_papers_grid_takes_fewer_lines_than_jobs_and_ends_with_what_is_absent(paper_dry_run):
    lines = paper_dry_run.splitlines()
    assert len(lines) < min(500, sum(parse_counts(paper_dry_run).values()))
    assert any(line.startswith("to bring, planned as if there:") for line in lines[-10:])
