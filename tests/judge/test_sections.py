"""The page that tells what of a problem's code is running."""

from __future__ import annotations

import os

import pytest

from solbench.judge._sections import Section, SectionPage


def _pages() -> tuple[SectionPage, SectionPage]:
    descriptor = SectionPage.create()
    pages = SectionPage(descriptor), SectionPage(descriptor)
    os.close(descriptor)
    return pages


def test_what_is_entered_is_seen_and_what_is_left_is_not() -> None:
    ours, theirs = _pages()
    assert theirs.entered() is None
    with ours.within(3, Section.INPUTS):
        with ours.within(3, Section.FLOAT64):
            seen = theirs.entered()
            assert seen is not None
            assert (seen.workload, seen.section) == (3, Section.FLOAT64)
        outer = theirs.entered()
        assert outer is not None
        assert outer.section is Section.INPUTS
    assert theirs.entered() is None


def test_a_look_between_two_words_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, theirs = _pages()
    # The section was read before it was left, and the time after: it would have run since the machine started.
    looks = iter([(0, 0, Section.REFERENCE), (0, 0, Section.NONE), (0, 0, Section.NONE)])
    monkeypatch.setattr(SectionPage, "_look", lambda self: next(looks))
    assert theirs.entered() is None
