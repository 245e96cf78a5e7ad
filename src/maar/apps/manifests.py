"""What an administrator applies to a cluster to install Maar."""

from importlib.resources import files


def manifests() -> str:
    """Give the manifests as one YAML stream; today that is the custom resource definitions."""
    folder = files("maar") / "deploy" / "crds"
    documents = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name
    )
    return "---\n".join(document.read_text(encoding="utf-8") for document in documents)
