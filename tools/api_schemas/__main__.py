"""Writes src/maar/embedded/schema/api.json; PYTHONPATH=tools python -m api_schemas, in the project's root.

What it reads is the Kubernetes client package, deploy/crds and the tables beside this file.
"""

from api_schemas.generation import OUTPUT, generated

if __name__ == "__main__":
    OUTPUT.write_text(generated(), encoding="utf-8")
    print(f"{OUTPUT}: {OUTPUT.stat().st_size >> 10} KiB")
