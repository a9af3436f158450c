"""The page, its tables and its figures.

REQUIRED INPUTS
    the outputs of all stages that this configuration asks for
OUTPUTS
    results/report/index.html, tables, figures
"""

import hashlib
import os

# The settings that the report shows: of the sources those that this run reads, and not
# where it writes and reads, nor further forms of tokenizers, which make no page again.
UNUSED_SOURCES = SETTINGS.corpora.sources.keys() - {source.name for source in PLAN.sources.values()}
SHOWN_SETTINGS = SETTINGS.model_dump(
    mode="json",
    exclude_none=True,
    exclude={
        "results": True,
        "downloads": True,
        "tokenizers": {name: {"export"} for name in SETTINGS.tokenizers},
        "corpora": {"fetch": True, "sources": {name: True for name in UNUSED_SOURCES}},
    },
)

# By a variable: Snakemake prints the command of a job that fails, twice.
REPORT_SETTINGS = json.dumps(SHOWN_SETTINGS, ensure_ascii=False)
SETTINGS_VARIABLE = "VOCAP_REPORT_SETTINGS"
OWN_VARIABLE = ""
if IS_MODULE:  # there may be several of them, each with its settings
    OWN_VARIABLE = f"{SETTINGS_VARIABLE}_{hashlib.sha256(RESULTS.encode()).hexdigest()[:12]}"
os.environ.update({OWN_VARIABLE or SETTINGS_VARIABLE: REPORT_SETTINGS})


rule report:
    input:
        rules.corpora.input,
        ASKED_CURVES,
        rules.allocation.input,
        rules.tokenizers.input.measured,
        rules.pretraining.input,
        rules.finetuning.input,
        rules.correlation.input.points,
        table=SETTINGS.corpora.table,
    output:
        page="<results>/report/index.html",
        tables=directory("<results>/report/tables"),
        figures=directory("<results>/report/figures"),
    log:
        "<logs>/report/report.log",
    benchmark:
        "<logs>/benchmarks/report/report.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **needs("report"),
    params:
        **run_params("report"),
        settings=verbatim(REPORT_SETTINGS),  # watched
        parallel=verbatim(options(parallel_text=PARALLEL_TEXT.name) if PARALLEL_TEXT else ""),
    message:
        "Writing the report"
    shell:
        (f'{SETTINGS_VARIABLE}="${OWN_VARIABLE}" ' if OWN_VARIABLE else "") + "vocap report"
        " --results {params.results:q}"
        " --languages-table {input.table:q}"
        " {params.parallel}"
        " -o {params.results:q}/report 2> {log:q}"
