"""``python -m terrafl``: the command, where it is not on the path."""

from terrafl.cli.main import main

if __name__ == "__main__":
    main()
