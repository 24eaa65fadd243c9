"""docs/tutorial.md as it stands: its blocks run in order, and print what the page says they print."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_the_tutorial_does_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, names = PAGE.read_text(), {}
    assert text.count("```python") == len(BLOCK.findall(text)) > 10
    for block in BLOCK.finditer(text):
        code, expected = block.groups(default="")
        line = text.count("\n", 0, block.start()) + 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Line numbers of a failure are those of the page.
            exec(compile("\n" * line + code, str(PAGE), "exec"), names)
        assert printed.getvalue() == expected, f"what the block at line {line} prints"
    pictures = re.findall(r"!\[.+\]\((.+)\)", text)
    assert pictures and all((tmp_path / name).exists() and (PAGE.parent / name).exists() for name in pictures)
