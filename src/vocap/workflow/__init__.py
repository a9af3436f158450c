"""What rules ask besides their commands: the plan of a run, names, models, the owner of
results, the end of a run, jobs of SLURM.
"""
