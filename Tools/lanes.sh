# Sourced by Tools/torture, Tools/soak and Tools/fuzz, which run programmes in lanes: shells beside
# this one, with one programme each at a time. Whoever interrupts the tool ends the programmes, too,
# and these get the time to take away what they have mounted.
# shellcheck shell=bash

# What this lane runs, and whether it was told to end.
child=
stopped=

# begin_lane: the first thing that a lane does.
begin_lane() {
  trap 'stopped=1; [ -z "$child" ] || kill "$child" 2> /dev/null' INT TERM HUP
}

# attend COMMAND...: runs a programme in a lane; its status. What was started after the signal that
# it should have had gets it now.
attend() {
  local status
  "$@" &
  child=$!
  if [ -n "$stopped" ]; then kill "$child" 2> /dev/null; fi
  wait "$child"
  status=$?
  # A signal ends the waiting, and not the programme.
  while kill -0 "$child" 2> /dev/null; do
    wait "$child"
    status=$?
  done
  child=
  return "$status"
}

# end_lanes: ends all lanes, and waits for them.
end_lanes() {
  trap '' INT TERM HUP
  # shellcheck disable=SC2046
  kill $(jobs -p) 2> /dev/null
  wait
}

# now: the seconds that this shell has run; in the tests of these tools what is in a file, which
# their programmes move on.
now() { if [ -n "${CAIRN_TEST_CLOCK:-}" ]; then cat "$CAIRN_TEST_CLOCK"; else echo "$SECONDS"; fi; }
