"""Files of labels and counts: CSV, Excel and Parquet, told apart by what they hold."""

from cellbounds.data.formats.delimited import HEAD, codec_of, csv_stream, read_csv_rows
from cellbounds.data.formats.kinds import Columns, Kind, check_name, kind_of
from cellbounds.data.formats.parquet import ParquetBatches, parquet_batches
from cellbounds.data.formats.reading import check_options, read_columns
from cellbounds.data.formats.writing import text_levels, write_counts

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
