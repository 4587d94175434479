"""A run of `powercut syncs`: every sync of a trace taken away in the model, and what that breaks."""

from __future__ import annotations

import time

from powercut.runs.workspace import Workspace
from powercut.search.budget import Budget
from powercut.search.judging import check_final_state
from powercut.settings import seconds
from powercut.syncs.judges import BuiltinJudges, CheckJudges, without_syncs
from powercut.syncs.scheduler import RemovalScheduler
from powercut.syncs.sites import ProgramSyncs
from powercut.syncs.sync_verdict import SyncsRun
from powercut.trace.reader import Trace


def weigh_syncs(workspace: Workspace, trace: Trace) -> SyncsRun:
    """Take every sync of a trace away in the model, one after the other, and ask what that breaks."""
    started = time.monotonic()
    settings = workspace.settings
    program = ProgramSyncs.of(workspace.timelines(trace))
    budget = Budget(seconds(settings.budget), settings.max_states)
    if workspace.check is None and settings.check is None:
        scheduler = RemovalScheduler(program, BuiltinJudges(), budget, settings.seed, workspace.tell)
        scheduler.run()
    else:
        bare = without_syncs(program)
        executor, output_key = workspace.judging(bare).executor(anywhere=False)
        try:
            check_final_state(executor, bare[0], settings.timeout)
            judges = CheckJudges(bare, executor, output_key, workspace.told)
            scheduler = RemovalScheduler(program, judges, budget, settings.seed, workspace.tell)
            scheduler.run()
        finally:
            executor.close()
    return scheduler.outcome(workspace.notes, time.monotonic() - started)
