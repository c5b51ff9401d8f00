"""What is measured, section by section; :mod:`~benchmarks.sections.registry` lists them all."""
