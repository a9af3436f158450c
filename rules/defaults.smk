"""What every rule has, unless it says otherwise: a log, a benchmark file, an environment, and three parameters.

Both files are named by the stage whose folder the rule writes to, the rule, and its wildcards. The environment and the
REVISION are those of the file of the rule. Parameters: `results`, the run's folder; `folder`, that of the first output;
`revision`.
"""

from snakemake.io import strip_wildcard_constraints

ENVIRONMENTS = {"correlation": "finetuning"}  # of rules/STAGE.smk, where it is not envs/STAGE.yaml

for each in [each for each in workflow.rules if each.output]:
    stage = Path(each.snakefile).stem
    first = Path(strip_wildcard_constraints(each.output[0]))
    top = first.relative_to(RESULTS).parts[0] if first.is_relative_to(RESULTS) else stage
    names = dict.fromkeys(re.findall(r"\{\w+\}", str(first)))
    place = Path(top, each.name, *(name for name in names if name != top))
    each.log_modifier = each.benchmark_modifier = each.output_modifier
    each.set_log(f"{LOGS}/{place}.log")
    each.benchmark = f"{LOGS}/benchmarks/{place}.tsv"
    each.conda_env = each.conda_env or f"../envs/{ENVIRONMENTS.get(stage, stage)}.yaml"
    given = {
        "results": verbatim(RESULTS),
        "folder": lambda wildcards, output: Path(output[0]).parent,
        "revision": REVISION[stage],
    }
    each.set_params(
        **{name: value for name, value in given.items() if name not in each.params.keys()}
    )
