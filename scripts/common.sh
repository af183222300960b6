# shellcheck shell=bash
# What the scripts share: the tree's path, how many jobs fit, phases with their times. Scripts source this file.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2
# Paths that a caller exported must not lead `cd` or a compiler into another tree.
unset CDPATH CPATH CPLUS_INCLUDE_PATH LIBRARY_PATH

# ccache may use the objects of another clone, wherever that clone is.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
export CTEST_OUTPUT_ON_FAILURE=1

presets=(dev release asan tsan coverage fuzz)

# shellcheck disable=SC2034  # colours are for those who source this
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' red='' green='' plain=''
fi

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# One job per processor, but at most one for each 1.2 GiB of free memory. The biggest file takes that with sanitizers.
job_count() {
  local cores available_kib by_memory
  cores=$(nproc)
  available_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || echo 0)
  by_memory=$((available_kib / 1258291))
  if ((by_memory < 1)); then by_memory=1; fi
  echo $((cores < by_memory ? cores : by_memory))
}

# The stores that scripts take: sqlite, and each folder of lockcore/stores that scripts/<store>_local has a server for.
store_names() {
  local folder names=sqlite
  for folder in lockcore/stores/*/; do
    folder=$(basename "$folder")
    [[ ! -x scripts/${folder}_local ]] || names+=" $folder"
  done
  echo "$names"
}

# store_of <argument...>: the store that the arguments name with --store.
store_of() {
  local word before='' store=sqlite
  for word in "$@"; do
    if [[ $before == --store ]]; then store=$word; fi
    if [[ $word == --store=* ]]; then store=${word#--store=}; fi
    before=$word
  done
  echo "$store"
}

has_server() { [[ $1 != sqlite && " $(store_names) " == *" $1 "* ]]; }

# setup_store <store>: installs the packages of the store's server.
setup_store() {
  if has_server "$1"; then phase "Packages of $1" scripts/setup --for "$1"; fi
}

# beside_store <store> [option of <store>_local...]: what stands before a command that needs the store's server, a word a
# line.
beside_store() {
  if has_server "$1"; then printf '%s\n' "scripts/${1}_local" "${@:2}" --; fi
}

phase_names=()
phase_results=()
# A script that knows its phases goes through them once with planning=yes. Then each says which one follows.
planning=no
phases_planned=()

seconds_since() {  # <an earlier $EPOCHREALTIME>: the seconds since then, with one decimal
  local now=${EPOCHREALTIME/[.,]/} then=${1/[.,]/}
  local tenths=$(((now - then) / 100000))
  echo "$((tenths / 10)).$((tenths % 10))"
}

# phase <name> <command...>: runs it, says how long it took, keeps the result for the summary. Its return code is the
# command's.
phase() {
  local name=$1 started=$EPOCHREALTIME code=0 result step where=''
  shift
  if [[ $planning == yes ]]; then phases_planned+=("$name"); return 0; fi
  step=$((${#phase_names[@]} + 1))
  if ((step < ${#phases_planned[@]})); then
    where=", step $step of ${#phases_planned[@]}; next: ${phases_planned[step]}"
  elif ((step == ${#phases_planned[@]})); then
    where=", the last step"
  fi
  printf '%s== %s%s%s\n' "$bold" "$name" "$plain" "$where"
  "$@" || code=$?
  result="$(seconds_since "$started") s"
  ((code == 0)) || result+="  ${red}FAILED${plain}"
  phase_names+=("$name")
  phase_results+=("$result")
  return "$code"
}

print_phases() {
  local i
  for i in "${!phase_names[@]}"; do printf '  %-28s %s\n' "${phase_names[i]}" "${phase_results[i]}"; done
}

# quiet <log> <command...>: on a terminal the command's output is shown. Elsewhere it goes to the log, and is shown only
# if the command fails.
quiet() {
  local log=$1
  shift
  if [[ -t 1 ]]; then
    "$@"
  else
    "$@" >"$log" 2>&1 || { local code=$?; cat "$log"; return "$code"; }
  fi
}

# configure <name> [<preset> <options>...]: only when there is something new; ninja itself notices changed CMakeLists.txt files.
configure() {
  local dir=build/$1
  mkdir -p "$dir"
  if [[ -f $dir/build.ninja && ! CMakePresets.json -nt $dir/build.ninja ]]; then return 0; fi
  quiet "$dir/configure.log" cmake --preset "${2:-$1}" -B "$dir" "${@:3}"
}

# Reads ninja's lines. Prints how far ninja is, and how long the rest takes at the same rate: on a terminal in one line
# that changes, in a pipe each half minute. The largest files come first, so the rate of the first steps says nothing.
show_progress() {
  local line steps all since=$SECONDS told=$SECONDS text
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    steps=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    ((steps > 0)) || continue
    text="$steps of $all steps"
    if ((SECONDS - since >= 5 && steps * 10 >= all)); then text+=", about $(((SECONDS - since) * (all - steps) / steps)) s more"; fi
    if [[ -t 1 ]]; then
      printf '\r\e[K%s' "$text"
    elif ((SECONDS - told >= 30)); then
      printf '%s\n' "$text"
      told=$SECONDS
    fi
  done
  [[ ! -t 1 ]] || printf '\r\e[K'
}

# compile <preset> <target...>: the compiler's output goes to a log, which is shown if the compiler fails.
compile() {
  local dir=build/$1 codes
  shift
  cmake --build "$dir" -j "$(job_count)" --target "$@" 2>&1 | tee "$dir/build.log" | show_progress
  codes=("${PIPESTATUS[@]}")
  ((codes[0] == 0)) || cat "$dir/build.log"
  return "${codes[0]}"
}

check_preset() {
  local known
  for known in "${presets[@]}"; do
    [[ $1 != "$known" ]] || return 0
  done
  die "unknown preset \"$1\"; there are: ${presets[*]}"
}
