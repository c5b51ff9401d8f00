"""How time and memory are measured: the best of many calls, and processes of their own."""
