"""Writes src/maar/embedded/schema/api.json: python -m tools.kubernetes.schemas, in the root of the project.

What it reads is the Kubernetes client package, deploy/crds and the tables beside this file.
"""

from tools.kubernetes.schemas.generation import OUTPUT, generated

if __name__ == "__main__":
    OUTPUT.write_text(generated(), encoding="utf-8")
    print(f"{OUTPUT}: {OUTPUT.stat().st_size >> 10} KiB")
