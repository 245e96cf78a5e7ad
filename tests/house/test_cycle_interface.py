"""Tests and benchmarks use the cycle as other packages do, but for those that are about one part of it."""

import re
from typing import Final

from support.project_copy import ROOT

PAST_INTERFACE: Final = re.compile(
    r"^\s*(from|import) maar\.core\.cycle(\.(?!inspect )| import (?!(Memory|decide|settle)\b))", re.MULTILINE
)
ABOUT_A_PART: Final = {
    "tests/properties/slow_trimming.py": "is the slow one that Trimming is compared with",
    "tests/properties/test_trimming_laws.py": "compares Trimming with a slow one",
    "tests/properties/test_victims_at_most_laws.py": "compares a bound with the victims that are taken",
    "tests/properties/test_tables_laws.py": "compares a Ranking that is kept with a new one",
    "tests/properties/test_half_gang_laws.py": "switches HalfGangs off, and a law fails",
    "tests/properties/test_gate_laws.py": "switches GatePreempt, HeldUp and Loans off, and a law fails",
    "tests/properties/test_known_outcomes_laws.py": "gives each group a class of its own",
    "tests/properties/test_order_terms_laws.py": "records the turns that a decision gives",
    "tests/unit/test_concerned_pods.py": "counts how often other pods are counted",
    "tests/unit/test_configuration.py": "compares the actions with those that a configuration may name",
}


def test_only_tests_of_one_part_import_past_the_interface() -> None:
    """Whoever adds a test to the list says why it cannot use `maar.core.cycle` and `inspect`."""
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/**/*.py")]
    found = {str(file.relative_to(ROOT)) for file in files if PAST_INTERFACE.search(file.read_text("utf-8"))}
    assert found == set(ABOUT_A_PART)
