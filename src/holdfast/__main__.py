"""`python -m holdfast` is the `holdfast` command."""

import sys

from holdfast.ui.main import main

if __name__ == "__main__":
    sys.exit(main())
