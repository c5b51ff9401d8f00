"""Published margins: bounds of every cell, beside general solvers and numpy."""
