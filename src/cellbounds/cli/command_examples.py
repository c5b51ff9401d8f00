"""An example for the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "audit": 'audit delinquent.csv "[education|county]@2" --report audit.html',
    "attack": "attack published.toml",
    "show": "show printed.csv",
    "explore": "explore delinquent.csv --response education --best published.toml",
    "margins": "margins koch4.csv --way 2",
    "suggest": 'suggest delinquent.csv "[education|county]@2" --save instead',
    "protect": 'protect delinquent.csv "[county+,education+]" --public table.csv',
    "compare": 'compare delinquent.csv "[county+,education+]"',
    "serve": "serve delinquent.csv",
    "count": 'count delinquent.csv "[education|county]@1"',
    "posterior": 'posterior delinquent.csv "[education|county]@1"',
    "sample": 'sample delinquent.csv "[education|county]@1" --size 10 --seed 7',
    "synthesize": 'synthesize delinquent.csv "[county]" "[education]" -o synthetic',
    "verify": "verify proof.json",
    "reproduce": "reproduce",
    "init": "ledger init koch4.ledger --table koch4.csv --keep-table",
    "request": "ledger request koch4.ledger '[treatment]' --why 'a student'",
    "requests": "ledger requests koch4.ledger --status waiting",
    "decide": "ledger decide koch4.ledger 2 --approve --why harmless",
    "withdraw": "ledger withdraw koch4.ledger 2",
    "people": "ledger people koch4.ledger ann --roles administers,decides",
    "ask": 'ledger ask koch4.ledger "[center,status]"',
    "commit": 'ledger commit koch4.ledger "[center,status]" --why yearbook',
    "refuse": 'ledger refuse koch4.ledger "[recovery|center,status]@3" --why no',
    "history": "ledger history koch4.ledger",
    "export": "ledger export koch4.ledger -o history.json",
    "frontier": "ledger frontier koch4.ledger --way 2",
    "policy": "ledger policy koch4.ledger",
    "refine": "ledger refine survey.ledger --table finer.csv --why question",
    "grow": "ledger grow koch4.ledger later.csv --why 'more came in'",
    "revise": "ledger revise koch4.ledger mended.csv --removed 1 --why mistake",
    "ledger verify": "ledger verify koch4.ledger",
}
"""One for each command; a test runs them."""
