"""One conditional as rows and columns of integers."""
