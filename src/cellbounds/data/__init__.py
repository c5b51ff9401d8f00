"""What is counted: domains, tables, how counts are stored, read and written."""
