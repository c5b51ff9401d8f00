"""Diagrams: published counts, limits of effort and memory, draws, laziness."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.beliefs import GammaPoisson, Multinomial, Uniform
from cellbounds.fibre import searching
from cellbounds.fibre.components import parts_of
from cellbounds.fibre.diagram import growing
from cellbounds.fibre.diagram.growing import TooLarge, grow
from cellbounds.fibre.diagram.layers import layers_of
from cellbounds.fibre.diagram.ordering import best_order
from cellbounds.fibre.diagram.sums import sums_of
from cellbounds.fibre.product import diagram_fibre
from cellbounds.fibre.protocol import DEFAULT_EFFORT, Refusal
from cellbounds.fibre.searching import searched_tables
from cellbounds.methods.general.integers import Found
from cellbounds.structure import gather
