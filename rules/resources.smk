"""Memory and time of a job, and as much again with each retry (docs/cluster.md has the measurements)."""

HIGHEST_ATTEMPT = 3  # that asks for more: a long training is submitted again many times, for its time limit
SNAKEMAKE_MB = 350  # the two Snakemakes that start a cluster job's command; SLURM counts them as the job's memory


def memory(fixed_mb, per_input_mb=0):
    """A `mem_mb` as measured, so many MB and so many for each MB of input."""
    return lambda wildcards, input, attempt: int(
        min(attempt, HIGHEST_ATTEMPT) * (SNAKEMAKE_MB + fixed_mb + (per_input_mb and per_input_mb * input.size_mb))
    )


def minutes(fixed, per_input_mb=0):
    """A `runtime`, several times the measured one, since nodes differ and are shared."""
    return lambda wildcards, input, attempt: int(
        min(attempt, HIGHEST_ATTEMPT) * (fixed + (per_input_mb and per_input_mb * input.size_mb))
    )


def training_memory(parameters):
    """A `mem_mb` of training a model of so many parameters, a function of the wildcards.

    Weights, gradients and moments in 32 bits, and once more for checkpoints; 2 GB for torch and a batch.
    """
    return lambda wildcards, attempt: int(
        min(attempt, HIGHEST_ATTEMPT) * (SNAKEMAKE_MB + 2000 + 24 * parameters(wildcards) / 1e6)
    )
