"""`python -m onnxpert`, the same as the `onnxpert` command."""

import sys

from onnxpert.cli import main

sys.exit(main())
