"""One statement of conditional rates: sharp, linear and improved answers."""
