"""A type's name stands for one thing in the whole package."""

import re
from collections import defaultdict
from pathlib import Path

import ragtriage

SRC = Path(ragtriage.__file__).parent
TYPE = re.compile(r"^(?:class ([A-Z]\w+)|(?:    )?([A-Z]\w*[a-z]\w*)(?:: \w+)? = )", re.MULTILINE)
"""A public class or alias of a module, also one that only a type checker sees."""


def test_no_two_modules_define_public_types_of_one_name() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for path in SRC.rglob("*.py"):
        for class_name, alias in TYPE.findall(path.read_text(encoding="utf-8")):
            homes[class_name or alias].add(str(path.relative_to(SRC)))

    assert len(homes) > 500
    assert {name: sorted(there) for name, there in homes.items() if len(there) > 1} == {}
