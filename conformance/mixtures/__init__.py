"""Random models over the operator library, in random dtypes: `make mixtures`, docs/random-models.md."""
