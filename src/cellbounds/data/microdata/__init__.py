"""Records and cells in files of any size, folders, frames and engines, counted cell by cell."""
