"""Kills, full disks, wrong clocks and races: what they lose, leave half done or leave behind.

``python -m reliability.faults`` tries them on the command line itself, and counts. Commands run in
processes that are forked from one that has everything loaded, so that a trial costs little more
than the command; system calls are met by a small library (``interposed.c``), so that a process can
be killed before, in the middle of and after each of them.
"""
