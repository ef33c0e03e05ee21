# Waits for the switches, fills them, and shows that there is nothing more to do.
set -e
tries=0
until switchwright push one --devices devices.yaml --dry-run -q >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 60 ] || { switchwright push one --devices devices.yaml --dry-run; exit 1; }
  sleep 1
done
switchwright push one --devices devices.yaml --state one.push
switchwright push one --devices devices.yaml --state one.push
