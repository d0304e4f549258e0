"""Random programs of branches, loops and numbers read from data: `make flows`, docs/random-programs.md."""
