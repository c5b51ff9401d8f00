"""How: one module or folder for each mathematics, one ordered list."""
