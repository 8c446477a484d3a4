"""Bring the packed files up to date with the loose ones: run it after editing an example.

``reference.py`` goes into ``definition.json``, each ``solutions/NAME`` into ``solution_NAME.json``.
"""

import json
from pathlib import Path

from solbench.spec import pack, write_json

HERE = Path(__file__).parent


def refresh(example: Path) -> None:
    definition = example / "definition.json"
    content = json.loads(definition.read_text(encoding="utf-8"))
    content["reference"] = (example / "reference.py").read_text(encoding="utf-8")
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    definition.write_text(text, encoding="utf-8")
    for folder in sorted((example / "solutions").iterdir()):
        write_json(example / f"solution_{folder.name}.json", pack(folder))


if __name__ == "__main__":
    for definition in sorted(HERE.glob("*/definition.json")):
        refresh(definition.parent)
