"""Markov chains over the consistent tables of a release, for what cannot be summed exactly.

moves               moves, and whether they connect a set of tables
basic_moves         decomposable margins
conditional_moves   one conditional: document 002's two families
lattice_moves       any release: reduced lattice bases, and Markov bases by 4ti2
metropolis          running chains (compiled: metropolis_kernel)
chain_sampling      draws with diagnostics
"""
