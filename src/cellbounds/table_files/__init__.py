"""Files of labels and counts: CSV, Excel and Parquet, told apart by what they hold."""

from cellbounds.table_files.columns import Columns
from cellbounds.table_files.delimited import HEAD, codec_of, csv_stream, read_csv_rows
from cellbounds.table_files.kinds import Kind, check_name, kind_of
from cellbounds.table_files.parquet import ParquetBatches, parquet_batches
from cellbounds.table_files.reading import check_options, read_columns
from cellbounds.table_files.writing import text_levels, write_counts

__all__ = [
    "HEAD",
    "Columns",
    "Kind",
    "ParquetBatches",
    "check_name",
    "check_options",
    "codec_of",
    "csv_stream",
    "kind_of",
    "parquet_batches",
    "read_columns",
    "read_csv_rows",
    "text_levels",
    "write_counts",
]
