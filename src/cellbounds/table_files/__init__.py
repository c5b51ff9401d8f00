"""Files of labels and counts: CSV, Excel and Parquet, told apart by what they hold."""

from cellbounds.table_files.columns import Columns
from cellbounds.table_files.delimited import read_csv_rows
from cellbounds.table_files.reading import read_columns
from cellbounds.table_files.writing import text_levels, write_counts

__all__ = ["Columns", "read_columns", "read_csv_rows", "text_levels", "write_counts"]
