#!/bin/sh
# Makes the virtual environment and installs Maar into it, at the versions of constraints.txt.
set -eu
venv=$1
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "setup: $python is older than Python 3.11; name a newer one: make setup PYTHON=/path/to/python3" >&2
    exit 1
}

# Debian keeps the part of Python that makes environments in a package of its own.
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing Debian's python3-venv"
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
    else
        echo "setup: $python cannot make environments; install the package python3-venv, then run make again" >&2
        exit 1
    fi
fi

if [ ! -x "$venv/bin/pip" ]; then
    echo "setup: making $venv with $("$python" --version); a few seconds"
    "$python" -m venv --clear "$venv"
fi
echo "setup: installing Maar and its tools at the versions of constraints.txt"
# As a variable the constraints hold for the build tools too.
PIP_CONSTRAINT=constraints.txt "$venv/bin/python" tools/install.py
echo "setup: ready; the programs are in $venv/bin: maar, kubectl-maar, vcctl, vsub, vjobs and others"
