"""The lines of a dry run: few for many jobs, and what is absent."""

from tests.workflow.conftest import parse_counts


def test_the_papers_grid_takes_fewer_lines_than_jobs_and_ends_with_what_is_absent(paper_dry_run):
    lines = paper_dry_run.splitlines()
    assert len(lines) < min(500, sum(parse_counts(paper_dry_run).values()))
    assert any(line.startswith("to bring, planned as if there:") for line in lines[-10:])
