"""What is generated in the pages of the documentation, from the tool itself and the evidence on record.

python docs/generated.py            # brings the pages up to date
python docs/generated.py --check    # names those that are not, and exits with 1
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rules_table import judged_table, table
from site_reference import commands_page, seen_of_rules, settings
from site_rules import symptoms
from site_sources import readme_section

ROOT = Path(__file__).parent.parent
# What stands between `<!-- settings -->` and `<!-- end of settings -->`; sections of the README by their names.
PARTS = {
    "rules": table,
    "judged": judged_table,
    "settings": settings,
    "symptoms": symptoms,
    "what a run sees of each rule": seen_of_rules,
}
_PART = re.compile(r"(?ms)^<!-- (?P<name>[^>\n]+) -->\n(?P<text>.*?)^<!-- end of (?P=name) -->$")
_README = "README: "


def brought_up_to_date(page: str) -> str:
    """The text of a page with its generated parts as they should be now."""

    def part(found: re.Match[str]) -> str:
        name = found["name"]
        text = (
            readme_section(ROOT / "README.md", name.removeprefix(_README))
            if _README in name
            else PARTS[name]()
        )
        around = "" if name == "rules" else "\n"
        return f"<!-- {name} -->\n{around}{text.strip()}\n{around}<!-- end of {name} -->"

    return _PART.sub(part, page)


def pages() -> dict[Path, str]:
    """The README and the pages of `docs/` as they should be; that of the commands is made as a whole."""
    written = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    found = {page: brought_up_to_date(page.read_text(encoding="utf-8")) for page in written}
    return {**found, ROOT / "docs" / "commands.md": commands_page() + "\n"}


def main(arguments: list[str]) -> int:
    """Write what has changed, or name it."""
    old = {
        page: text
        for page, text in pages().items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    }
    for page, text in old.items():
        print(page.relative_to(ROOT))
        if "--check" not in arguments:
            page.write_text(text, encoding="utf-8")
    return int("--check" in arguments and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
