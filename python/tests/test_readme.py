"""The examples of both READMEs run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent
READMES = [PACKAGE / "README.md", PACKAGE.parent / "README.md"]
EXAMPLES = [text for readme in READMES for text in re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    program = [sys.executable, "-W", "error", "-c", example]
    ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
