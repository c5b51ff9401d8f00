"""The papers' published results beside ours."""
