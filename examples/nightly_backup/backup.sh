#!/bin/sh
# The job: a backup in two steps. It may be started again after a crash, so each step can be repeated.
#
#   backup.sh DIRECTORY
set -eu
log="$1/backup.log"
stamp="night $TENURE_PERIOD, attempt $TENURE_ATTEMPT, fencing token $TENURE_FENCING_TOKEN"

echo "step one, $stamp" >> "$log"
sleep "${NIGHTLY_WORK:-0}"
echo "step two, $stamp" >> "$log"
