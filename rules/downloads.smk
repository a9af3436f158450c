"""Downloads besides text: tokenizers, and the free files of XTREME; the user brings the others."""

SUPPLIES = [plan.supply for plan in (TUNING, STUDY) if plan.supply]

# folder of XTREME's to its files that are not there, as paths under the folder
FETCHED = {
    collection: sorted(
        {path for supply in SUPPLIES for path in supply.fetched if collection_of(path) == collection}
    )
    for collection in ARCHIVES
}


rule fetch_file:
    output:
        file="<results>/corpora/files/{download}/{file}",
        origin="<results>/corpora/files/{download}/{file}.json",
    log:
        "<logs>/corpora/files/{download}/{file}.log",
    benchmark:
        "<logs>/benchmarks/corpora/files/{download}/{file}.tsv"
    wildcard_constraints:
        download=one_of(SETTINGS.downloads),
        file=one_of({entry.name for entry in SETTINGS.downloads.values()}),
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(600),
    params:
        url=lambda wildcards: SETTINGS.downloads[wildcards.download].url,
        sha256=lambda wildcards: options(sha256=SETTINGS.downloads[wildcards.download].sha256),
        revision=REVISION["corpora"],
    message:
        "Downloading {wildcards.download}"
    shell:
        "vocap fetch {params.url:q} {params.sha256} -o {output.file:q} 2> {log:q}"


# Outputs are the files that are not there: no rule may remove a file of the user.
for collection, paths in FETCHED.items():
    if paths:

        rule:
            name:
                f"unpack_{collection}"
            input:
                [downloaded(name) for name in ARCHIVES[collection]],
            output:
                [f"{SETTINGS.finetuning.xtreme}/{path}" for path in paths],
            log:
                f"<logs>/finetuning/unpack/{collection}.log",
            benchmark:
                f"<logs>/benchmarks/finetuning/unpack/{collection}.tsv"
            localrule: True
            conda:
                "../envs/finetuning.yaml"
            resources:
                mem_mb=memory(1500),
                runtime=minutes(60),
            params:
                collection=collection,
                xtreme=verbatim(SETTINGS.finetuning.xtreme),
                archives=verbatim(options(archive=[downloaded(name) for name in ARCHIVES[collection]])),
                paths=paths,
                revision=REVISION["finetuning"],
            message:
                f"Taking XTREME's files of {collection} from what its authors publish"
            shell:
                "vocap unpack {params.collection} {params.archives} -o {params.xtreme:q} {params.paths:q} 2> {log:q}"
