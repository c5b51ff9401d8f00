"""What the library is measured against.

Document 004's algorithm takes the published figures as they are (:mod:`~benchmarks.peers.paper`).
The general solvers (:mod:`~benchmarks.peers.solvers`) take the same integer program, one
optimisation per bound. 4ti2 and LattE are programs of their own that list or count all tables.
"""
