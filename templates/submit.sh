#!/bin/sh
# Submits the shares of `switchwright {{ command }}`, and the job that puts them together when all are done. Shares that are
# there already are not done again, so this may be called again. Prints the numbers of both jobs.
set -eu
cd {{ here }}
mkdir -p {{ scripts }}/logs
shares=$(sbatch --parsable {{ scripts }}/shares.sbatch)
merge=$(sbatch --parsable --dependency="afterok:${shares%%;*}" --kill-on-invalid-dep=yes {{ scripts }}/merge.sbatch)
echo "${shares%%;*} ${merge%%;*}"
