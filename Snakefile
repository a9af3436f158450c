"""VoCap: from raw text in many languages to multilingual tokenizers, and on to models and tables."""

from snakemake.utils import min_version

min_version("9.27")  # pathvars


include: "rules/configfiles.smk"


configfile: str(SOURCES_FILE)


if not workflow.overwrite_configfiles:

    configfile: str(DEFAULT_FILE)


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/functions.smk"
include: "rules/cluster.smk"
include: "rules/corpora.smk"
include: "rules/vocabularies.smk"
include: "rules/allocation.smk"
include: "rules/tokenizers.smk"
include: "rules/pretraining.smk"
include: "rules/correlation.smk"
include: "rules/finetuning.smk"
include: "rules/needs.smk"
include: "rules/report.smk"
include: "rules/dry_run.smk"


rule all:
    """Every stage that this configuration asks for, and the report."""
    default_target: True
    input:
        rules.corpora.input,
        rules.vocabularies.input,
        rules.allocation.input,
        rules.tokenizers.input,
        rules.pretraining.input,
        rules.finetuning.input,
        rules.correlation.input,
        "<results>/report/index.html",
    message:
        "Everything that the configuration asks for is made"


onsuccess:
    print("", *summarize(SETTINGS), sep="\n", file=sys.stderr)
