"""Reports: a run folder's plain data files turned into one offline HTML page."""

from bench.report.run_report import write_run_report

__all__ = ["write_run_report"]
