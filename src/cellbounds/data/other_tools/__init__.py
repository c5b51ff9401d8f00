"""Files of other tools: tau-ARGUS, rtauargus, sdcTable, GaussSuppression, ACRO, cell keys.

Each module reads one family of files into :class:`~cellbounds.data.published.PublishedTable`;
``formats.FORMATS`` lists them. ``writing`` writes such files again.
"""
