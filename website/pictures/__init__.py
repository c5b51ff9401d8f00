"""Six pictures for people who decide, each from figures that are worked out or recorded.

``python -m website.pictures`` writes them into docs/pictures, on light and on dark paper.
"""
