"""How much each section measures, in full and quickly."""
