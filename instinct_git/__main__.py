"""`python -m instinct_git`."""

import sys

from instinct_git.faces.entry import main

sys.exit(main())
