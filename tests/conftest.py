"""Generated inputs: the same in each run, so that a failure belongs to the change that is tested; new ones at night."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same inputs each time", derandomize=True)
if "ARCHSCAN_FUZZ_EXAMPLES" not in os.environ:
    settings.load_profile("same inputs each time")
