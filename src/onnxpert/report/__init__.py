"""Stage 9: everything the walk found, as one value; text, JSON, HTML and terminal only read it."""

from onnxpert.report.report import SCHEMA, Action, Report

__all__ = ["SCHEMA", "Action", "Report"]
