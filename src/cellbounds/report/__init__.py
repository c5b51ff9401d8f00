"""How we say it: text, JSON and CSV for people and programs."""
