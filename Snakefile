"""VoCap: from raw text in many languages to multilingual tokenizers, models and tables."""

from snakemake.utils import min_version

min_version("9.27")  # pathvars


include: "rules/internals.smk"
include: "rules/common.smk"
include: "rules/corpora.smk"
include: "rules/vocabularies.smk"
include: "rules/allocation.smk"
include: "rules/tokenizers.smk"
include: "rules/pretraining.smk"
include: "rules/finetuning.smk"
include: "rules/report.smk"


rule all:
    """Every stage that this configuration asks for, and the report."""
    default_target: True
    input:
        rules.corpora.input,
        ASKED_CURVES,
        rules.allocation.input,
        rules.tokenizers.input,
        rules.pretraining.input,
        rules.finetuning.input,
        rules.correlation.input,
        "<results>/report/index.html",
    message:
        "Everything that the configuration asks for is made"


onstart:
    begin_run()
    check_space()


onsuccess:
    print("", *summarize(SETTINGS), sep="\n", file=sys.stderr)


if DRY_RUN:
    if not IS_MODULE:
        atexit.register(end_dry_run)
elif IS_MAIN:
    atexit.register(end_run)
