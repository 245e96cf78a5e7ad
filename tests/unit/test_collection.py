"""Garbage collection is off while an answer is worked out, and as before afterwards."""

import gc

import pytest

from maar.core.simulation.collection import without_collection


def test_it_is_off_meanwhile_and_on_again_after_an_error() -> None:
    with without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collection():
        _ = 1 / 0
    assert gc.isenabled()


def test_one_inside_another_leaves_it_off() -> None:
    with without_collection():
        with without_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with without_collection():
            pass
        assert gc.get_freeze_count() == pytest.approx(frozen, rel=0.01)  # some may be freed meanwhile
    finally:
        gc.unfreeze()
