"""What a scrape of metrics says, read back as Prometheus would."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

Labels = dict[str, str]


def samples(registry: CollectorRegistry) -> dict[str, list[tuple[Labels, float]]]:
    """Every series with its value, by name."""
    found: dict[str, list[tuple[Labels, float]]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for one in family.samples:
            found.setdefault(one.name, []).append((one.labels, one.value))
    return found


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    """One value; a series that is not there fails."""
    (found,) = [number for have, number in samples(registry)[name] if have == labels]
    return found
