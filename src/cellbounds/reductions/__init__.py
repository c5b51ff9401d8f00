"""What can be left out before a solver is asked, and put back into its answer."""
