# Topology, two plans of it with other routes, their builds, and the program that both have as BMv2 reads it; nothing is running yet.
set -e
cp "$(dirname "$0")/devices.yaml" .
switchwright topo ring 4 --hosts 1 -o ring.json
switchwright plan ring.json --scheme plinko --resilience 1 --source-routes -o one.json
switchwright build one.json --target v1model -o one
switchwright plan ring.json --scheme plinko --resilience 1 --source-routes --seed 5 -o two.json
switchwright build two.json --target v1model --plan-version 2 -o two
switchwright p4 compile one/p4/failover.p4 -o failover.json
