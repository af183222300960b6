#!/bin/sh
# What cron starts on each host, or several times on one: of all these starts, one does tonight's backup.
#
#   nightly.sh DATABASE DIRECTORY
#
# In the crontab of each host, every ten minutes, so that a start after a crash makes up for it:
#   */10 * * * *  /opt/nightly/nightly.sh /var/lib/nightly.db /var/backups
set -u
here=$(dirname "$0")
export NIGHTLY_DATABASE="$1"
exec tenure run --config "$here/nightly.yaml" --once --wait 0s --busy-ok \
  --schedule "0 3 * * *" --guarantee at_least_once -- "$here/backup.sh" "$2"
