"""How the laws are tried."""

from collections.abc import Callable
from secrets import randbits

import pytest
from hypothesis import HealthCheck, Phase, settings

from properties.how_many import cases
from properties.trials import ENGINES, Trial

settings.register_profile(
    "laws",
    max_examples=cases(100),
    deadline=None,
    derandomize=False,  # which Hypothesis would set in CI
    database=None,
    print_blob=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("laws")


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """One seed for the whole run: the one asked for, or any; pytest-xdist's workers agree on it."""
    asked_for = pytestconfig.getoption("--hypothesis-seed")
    if asked_for is not None:
        return int(asked_for)
    run: str | None = getattr(pytestconfig, "workerinput", {}).get("testrunuid")
    return int(run[:8], 16) if run else randbits(32)


@pytest.fixture
def trial(request: pytest.FixtureRequest, seed: int, record_property: Callable[[str, object], None]) -> Trial:
    """Return a trial of one law against the kernel, or a smaller one against the slow implementation."""
    engine, examples = ENGINES[request.param]
    return Trial(engine, examples, seed, record_property)
