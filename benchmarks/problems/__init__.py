"""What is asked: real and random tables, their look-alikes, and what is published of them."""
