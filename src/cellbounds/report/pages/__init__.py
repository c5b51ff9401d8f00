"""The parts of a report: what it says, who may read it, and the page that shows it."""
