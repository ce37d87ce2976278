# The image of webhook and controller. Build it from the root of a checkout:
#   docker build --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" -t gangwarden:0.1.0 .
# It runs as nobody in particular and writes to /tmp only, so give it a read-only root and a small memory volume there.

FROM python:3.13-slim AS build
ARG SOURCE_DATE_EPOCH=0
ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv --without-pip /opt/gangwarden && python -m venv --without-pip /opt/build
COPY requirements-runtime.lock requirements-build.lock ./
RUN python -m pip --python /opt/gangwarden/bin/python install --require-hashes --only-binary :all: -r requirements-runtime.lock \
    && python -m pip --python /opt/build/bin/python install --require-hashes --only-binary :all: -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY certs certs
COPY policies policies
COPY webhook webhook
RUN /opt/build/bin/python -m hatchling build -t wheel -d /dist \
    && python -m pip --python /opt/gangwarden/bin/python install --no-deps --no-index --find-links /dist gangwarden

FROM python:3.13-slim
LABEL org.opencontainers.image.title="gangwarden" \
      org.opencontainers.image.description="Policy-as-code admission for gangs on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/gangwarden/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/gangwarden /opt/gangwarden
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["gangwarden"]
