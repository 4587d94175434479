# The public names of powercut. `__init__.py` loads each when it is first used.
from powercut.api import explore as explore
from powercut.api import match as match
from powercut.assertions.check import check_program as check_program
from powercut.assertions.check import check_trace as check_trace
from powercut.pytest_plugin import crash_test as crash_test

__version__: str
__all__ = ["check_program", "check_trace", "crash_test", "explore", "match"]
