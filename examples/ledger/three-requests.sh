#!/bin/sh
# Three requests about one table. Each could be answered by itself; after the first two, the third
# cannot. Run it from the top folder of the project:
#
#     sh examples/ledger/three-requests.sh
set -u
TABLE=src/cellbounds/datasets/census3.csv
LEDGER=${1:-$(mktemp -d)/census3.ledger}

cellbounds ledger init "$LEDGER" --table "$TABLE" --policy small-counts --who ann

# Nothing is out yet: this would be safe.
cellbounds ledger ask "$LEDGER" "[income|gender,race]@1" --table "$TABLE"

cellbounds ledger commit "$LEDGER" "[gender]" --table "$TABLE" --who ann --why "press office"
cellbounds ledger commit "$LEDGER" "[gender|race]@1" --table "$TABLE" --who bob --why "a student"

# Now it is not, and the answer names the two entries before it (exit status 1).
cellbounds ledger commit "$LEDGER" "[income|gender,race]@1" --table "$TABLE" --who ann --why "a newspaper" --record

# What may still be released, one statement at a time.
cellbounds ledger frontier "$LEDGER" --way 2 --digits 1 --table "$TABLE"

cellbounds ledger history "$LEDGER"
cellbounds ledger export "$LEDGER"
cellbounds ledger verify "$LEDGER"
