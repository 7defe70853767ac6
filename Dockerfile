# syntax=docker/dockerfile:1
# A static program in an image with nothing else but the usual authorities and the list of what it is made of: no shell, no
# libc, not root.
#
#   docker build -t quintet:dev .                                       # every system; runs `quintet`
#   docker build -t quintet-mlflow:dev --build-arg SYSTEM=mlflow .      # takes the place of one original's image
#   docker buildx build --platform linux/amd64,linux/arm64 .            # both architectures, each built as itself

FROM rust:1.95-alpine AS build
RUN apk add --no-cache build-base ca-certificates python3
WORKDIR /src
COPY . .
# On Alpine the host's target is musl, and what it links is static.
RUN cargo build --profile dist --locked --package quintet \
 && install -D target/dist/quintet /image/usr/bin/quintet \
 && install -d -m 1777 /image/tmp \
 && install -D -m 644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
 && install -d /image/usr/share/sbom && hack/sbom > /image/usr/share/sbom/quintet.cdx.json \
 && for name in manager bbr maas-api; do ln -s usr/bin/quintet "/image/$name"; done

FROM scratch
ARG SYSTEM=""
COPY --from=build /image/ /
# Which original /manager stands in for; empty under our own name.
ENV QUINTET_SYSTEM=${SYSTEM}
USER 1001:1001
ENTRYPOINT ["/usr/bin/quintet"]
