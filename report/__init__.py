"""Reports: the plain data files of a run or a bench turned into one offline HTML page."""

from tagma.report.bench_report import write_bench_report
from tagma.report.run_report import write_run_report

__all__ = ["write_bench_report", "write_run_report"]
