"""What the library is measured against: document 004's algorithm, HiGHS and CP-SAT.

Every peer takes the same three published figures: rates as integer numerators, their common
denominator ``scale``, and the total; every rate is within one unit of ``1 / scale``, weak.
"""
