"""Write the expected outputs anew, of all cases or of those that are named.

python tests/golden/record.py [NAME …]

Look at the difference (`git diff tests/golden/expected`) before it is kept: each changed line is changed behaviour.
"""

import shutil
import sys

from runner import EXPECTED, record, rows


def main(names: list[str]) -> int:
    """Record; 1 if a command ended with another exit code than the table says."""
    table = rows()
    unknown = [name for name in names if name not in table]
    if unknown:
        sys.stderr.write(f"no case is called {', '.join(unknown)}: use {', '.join(table)}\n")
        return 2
    wrong = []
    for name in names or table:
        wrong += [f"{name}: {told}" for told in record(table[name])]
        sys.stdout.write(f"{name}\n")
    for folder in [] if names else EXPECTED.iterdir():
        if folder.name not in table:
            shutil.rmtree(folder)
    sys.stderr.write("".join(f"{told}\n" for told in wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
