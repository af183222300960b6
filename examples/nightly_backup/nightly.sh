#!/bin/sh
# A backup in two steps that cron starts on several machines, or twice on one: exactly one does it. The lock goes from
# step to step as a token, because no process of ours lives on between them.
#
#   nightly.sh DATABASE DIRECTORY
set -u
export TENURE_LOCK_STORE=sqlite TENURE_LOCK_PATH="$1"
directory=$2

token=$(tenure lock acquire nightly-backup --wait 0s --lease 10m)
case $? in
  0) ;;
  82) echo "nightly: somebody else is at it"; exit 0 ;;
  *) exit 1 ;;
esac
# Whatever happens from here on, the lock is released. If this shell is killed, the lock ends with its lease.
trap 'tenure lock release "$token" >/dev/null' EXIT

fence=$(tenure lock show "$token" --json | sed 's/.*"fencing_token":\([0-9]*\).*/\1/')
echo "step one, fencing token $fence" >> "$directory/backup.log"

# The lease starts anew for the second step. If the lock was lost meanwhile, another machine may do the work: stop.
next=$(tenure lock renew "$token" --lease 10m) || exit 1
token=$next
echo "step two, fencing token $fence" >> "$directory/backup.log"
