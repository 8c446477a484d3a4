"""What people see: terminal tables and a results page, all pure functions of traces and bounds."""

from __future__ import annotations

from solbench.report._advice import evaluation_report
from solbench.report._bound_plot import bound_plot, bound_svg
from solbench.report._bounds import bound_report, bound_table, findings_report
from solbench.report._cache import cache_plot, cache_tables
from solbench.report._compare import compare_table
from solbench.report._comparison import comparison_report
from solbench.report._explain import explain_report, plain_count_table
from solbench.report._explain_page import explain_page
from solbench.report._feedback import Feedback, feedback
from solbench.report._feedback_text import feedback_report
from solbench.report._format import counted
from solbench.report._grid import grid
from solbench.report._guard import guard_report, rules_table
from solbench.report._hardware import calibration_report, hardware_report, hardware_table
from solbench.report._ops import coverage_report, rules_report
from solbench.report._page import html_page
from solbench.report._roofline import roofline_svg
from solbench.report._summary import Summary, by_solution, distance, summarise
from solbench.report._tables import evaluation_table, overview_table

__all__ = [
    "Feedback",
    "Summary",
    "bound_plot",
    "bound_report",
    "bound_svg",
    "bound_table",
    "by_solution",
    "cache_plot",
    "cache_tables",
    "calibration_report",
    "compare_table",
    "comparison_report",
    "counted",
    "coverage_report",
    "distance",
    "evaluation_report",
    "evaluation_table",
    "explain_page",
    "explain_report",
    "feedback",
    "feedback_report",
    "findings_report",
    "grid",
    "guard_report",
    "hardware_report",
    "hardware_table",
    "html_page",
    "overview_table",
    "plain_count_table",
    "roofline_svg",
    "rules_report",
    "rules_table",
    "summarise",
]
