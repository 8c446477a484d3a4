from solbench.judge._traces import printable


def test_a_log_cannot_paint_on_the_terminal():
    shown = printable("a\x1b[2J\x1b[32mPASSED\r\x00b\u202ec\x9bd\ud800")
    assert not set("\x1b\r\x00\u202e\x9b\ud800") & set(shown)
    assert "PASSED" in shown


def test_lines_tabs_and_other_scripts_stay():
    assert printable("a\n\tb é 漢 ∑") == "a\n\tb é 漢 ∑"
