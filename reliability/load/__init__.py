"""`make load`: many people at one server, while audits run."""
