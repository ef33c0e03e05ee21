# The image of Switchwright: the command with its benchmarks (`switchwright-figures`), a shell, iproute2 and ping. Switches and hosts of containerlab and KNE run in it
# (`switchwright export`), shares of work on Kubernetes (`switchwright submit kubernetes`), docker-compose.yml's services.
#
#     docker build -t switchwright:0.1.0 .
FROM rust:1-trixie AS build
WORKDIR /source
COPY . .
# What is built stays in caches of the builder, not in layers.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release --locked --package switchwright --package switchwright-figures && \
    cp target/release/switchwright target/release/switchwright-figures /usr/local/bin/

FROM debian:trixie-slim
RUN apt-get update -q && \
    apt-get install -y -q --no-install-recommends iproute2 iputils-ping && \
    rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/apt /var/log/dpkg.log
COPY --from=build /usr/local/bin/switchwright /usr/local/bin/switchwright-figures /usr/local/bin/
# No entry point: engines name the command whole.
CMD ["switchwright", "--help"]
