"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples in every run of CI: a change must not fail for what another one left behind. Elsewhere each run
# looks at new ones.
settings.register_profile("powercut", derandomize="CI" in os.environ, deadline=None)
settings.load_profile("powercut")
