"""Files of labels and counts: CSV, Excel and Parquet, told apart by what they hold."""
