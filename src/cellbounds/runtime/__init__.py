"""How work is run: budgets, workers, checkpoints, progress, memory, files, interrupts."""
