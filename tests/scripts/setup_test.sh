#!/usr/bin/env bash
# scripts/setup does nothing, at once, when nothing is missing; and says what is needed where it cannot install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

output=$(scripts/setup 2>&1)
[[ -z $output ]] || { echo "setup was not silent: $output"; exit 1; }

# Processor time, which other processes hardly change, and a bound for what waits. The best of several counts.
TIMEFORMAT='%3U %3S %3R'
most_used=100 most_passed=1000 milliseconds=""
for _ in {1..20}; do
  read -r user system passed < <({ time scripts/setup >/dev/null 2>&1; } 2>&1)
  used=$((10#${user/[.,]/} + 10#${system/[.,]/})) passed=$((10#${passed/[.,]/}))
  milliseconds+=" $used/$passed"
  ((used >= most_used || passed >= most_passed)) || break
done
((used < most_used && passed < most_passed)) || { echo "setup used/took these milliseconds:$milliseconds"; exit 1; }

if output=$(scripts/setup --for nothing 2>&1); then
  echo "setup took --for nothing"
  exit 1
fi
# Each store whose server scripts can start is a set of its own.
for folder in lockcore/stores/*/; do
  store=$(basename "$folder")
  [[ -e scripts/${store}_local ]] || continue
  [[ $output == *" $store,"* ]] || { echo "unhelpful: $output"; exit 1; }
  scripts/setup --for "$store" --list >/dev/null || { echo "setup does not take --for $store"; exit 1; }
done
