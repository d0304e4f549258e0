"""Random programs of arithmetic with sizes: `make sizes`, docs/random-sizes.md."""
