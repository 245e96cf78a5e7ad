# The image of Maar: the three programs and the command line, as a user that is not root, on a root that nothing writes to.
# Unbuilt: where this was written there is no image builder. tests/e2e/test_image.py does what the RUN line says and runs
# the entry point from the outcome as that user, on a read-only file system.
#
#   docker build --tag maar:0.1.0 .
ARG PYTHON=python:3.11-slim

FROM ${PYTHON} AS build
WORKDIR /build
COPY LICENSE README.md constraints.txt requirements.txt pyproject.toml ./
COPY deploy deploy
COPY src src
# First what Maar needs, each file by its hash; then Maar itself, whose build tools are pinned and do not stay.
RUN python -m venv --without-pip /opt/maar && python -m pip --python /opt/maar/bin/python install --quiet --no-cache-dir --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --requirement requirements.txt && PIP_CONSTRAINT=constraints.txt python -m pip --python /opt/maar/bin/python install --quiet --no-cache-dir --disable-pip-version-check --no-deps .

FROM ${PYTHON}
COPY --from=build /opt/maar /opt/maar
ENV PATH=/opt/maar/bin:$PATH HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["maar"]
