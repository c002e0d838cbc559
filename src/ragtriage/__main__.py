"""`python -m ragtriage` is the command `ragtriage`."""

from ragtriage.cli import main

if __name__ == "__main__":
    main()
