"""Before the first job: the jobs that a killed run left in a cluster's queue would write what this run writes."""


onstart:
    try:
        cancel_leftovers(Path.cwd())
    except VocapError as error:
        stop(error)
