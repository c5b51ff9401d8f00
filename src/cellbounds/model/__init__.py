"""What was said, compiled: integer constraints, the problem of the solvers, the layout of rates."""
