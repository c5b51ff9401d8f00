"""Any set of linear statements: propagation, safe dual bounds, integer walks and programs."""
