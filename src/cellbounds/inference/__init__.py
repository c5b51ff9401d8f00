"""Which tables fit a release, how many there are, and how likely each is."""
