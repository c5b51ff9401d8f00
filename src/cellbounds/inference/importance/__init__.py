"""Sequential importance sampling: weighted tables, and about how many there are.

sampling_plan         which cells and sums are placed, and in which order
centre                what the tables that are left look like on average
proposal_kernel       placing the variables of a table, one after another
importance_sampling   trials of proposals, draws, and what weighted draws say
"""
