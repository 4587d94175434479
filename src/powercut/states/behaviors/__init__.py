"""Representative testing (Pathfinder): behaviors, which of them stands for which, and the states worth testing."""
