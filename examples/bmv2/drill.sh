# The link that packets from h1 to h2 take fails and comes back; then plan two takes over while they flow.
set -e
switchwright drill one --from h1 --to h2 --interfaces h1,h2 --cut m1a,m1b --rate 200 --seconds 6 --max-gap 1000
switchwright drill one --from h1 --to h2 --interfaces h1,h2 --update two --devices devices.yaml --rate 200 --seconds 6 --max-lost 0
switchwright drift two --devices devices.yaml
echo "drills done"
