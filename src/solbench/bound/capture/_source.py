"""Lines of the program's own source: which one is running, and which one an error came from."""

from __future__ import annotations

import linecache
import sys


class Source:
    """The file that holds a program."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: dict[int, str] = {}

    def running(self) -> str:
        """``line 12: y = x @ w`` of the innermost frame in the file; empty if there is none."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return self._line(frame.f_lineno)
            frame = frame.f_back  # type: ignore[assignment]
        return ""

    def line_of(self, error: BaseException) -> str:
        """The innermost line of the file on the way to an error."""
        found = ""
        step = error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == self._file:
                found = self._line(step.tb_lineno)
            step = step.tb_next
        return found

    def _line(self, number: int) -> str:
        text = self._lines.get(number)
        if text is None:
            source = linecache.getline(self._file, number).strip()
            text = self._lines[number] = f"line {number}: {source}"
        return text
