"""Frozen types that flow through the pipeline; nothing here reads, writes or judges.

Reading order: target -> truth -> gate -> facts -> finding -> report.
"""
