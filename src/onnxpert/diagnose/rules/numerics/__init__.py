"""Files that compute something else."""
