# The image of Maar: the three programs and the command line, as a user that is not root, on a root that nothing writes to.
#
#   docker build --tag team/maar .
#
# `make release` builds it from this file too, with buildah: BUILD and PYTHON are then Debian's Python, without a shell and
# other programs in the second, and pip takes wheels of the platform WHEELS from the folder FOUND_IN and from nowhere else.
ARG BUILD=python:3.13-slim
ARG PYTHON=python:3.13-slim

FROM ${BUILD} AS build
ARG WHEELS
ARG FOUND_IN
ARG OFFLINE
ARG SOURCE_DATE_EPOCH=0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0
WORKDIR /build
COPY requirements.txt ./
# What Maar needs, each file by its hash. Programs of others are not on the path of the image.
RUN PIP_PLATFORM="$WHEELS" PIP_FIND_LINKS="$FOUND_IN" PIP_NO_INDEX="$OFFLINE" python3 -m pip install --quiet --no-deps --only-binary=:all: --require-hashes --target /opt/needed --requirement requirements.txt && rm -rf /opt/needed/bin
COPY LICENSE README.md constraints.txt pyproject.toml ./
COPY deploy deploy
COPY src src
# Maar itself; the tools that build it are pinned, and do not stay.
RUN PIP_CONSTRAINT=constraints.txt PIP_FIND_LINKS="$FOUND_IN" PIP_NO_INDEX="$OFFLINE" python3 -m pip install --quiet --no-deps --target /opt/maar .
RUN for part in needed maar; do python3 -m compileall -q --invalidation-mode unchecked-hash -s /opt/$part -p /opt/maar /opt/$part; done

FROM ${PYTHON}
COPY --from=build /opt/needed /opt/maar
COPY --from=build /opt/maar /opt/maar
ENV PATH=/opt/maar/bin:$PATH PYTHONPATH=/opt/maar HOME=/nonexistent PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["maar"]
