"""Whether budgets are kept: every function that takes one, on inputs that would take far longer."""
