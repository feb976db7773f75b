"""Settings: the table, the environment, blocks of code, threads and tasks."""

from __future__ import annotations

import asyncio
import sys
import threading
from dataclasses import fields
from typing import Any

import pytest

from dcarray import config as settings_block
from dcarray.config import (
    Settings,
    config,
    current,
    describe,
    from_environment,
    limits,
    logger,
    set_process_default,
)
from dcarray.errors import ConfigError


def test_config_of_the_package_is_the_context_manager() -> None:
    assert settings_block is config


def test_every_setting_is_described() -> None:
    rows = describe()
    assert [row[0] for row in rows] == [f.name for f in fields(Settings)]
    for name, variable, default, text in rows:
        assert variable == f"DCARRAY_{name.upper()}"
        assert eval(default) == getattr(Settings(), name)
        assert text.endswith((".", ")")) or text[0].isupper()
        assert len(text) > 20


def test_limits_are_those_in_force() -> None:
    def agree() -> bool:
        found, settings = limits(), current()
        return (found.settings, found.small, found.numbers) == (
            settings,
            settings.eager_below,
            settings.scalars == "numpy",
        )

    assert agree()
    with config(lazy="never", scalars="numpy"):
        assert agree()
        with config(lazy="always"):
            assert agree()
            elsewhere: list[bool] = []
            other = threading.Thread(target=lambda: elsewhere.append(agree()))
            other.start()
            other.join()
            assert elsewhere == [True]
            assert agree()
        assert agree()
    set_process_default(small_array=7)
    try:
        assert agree()
        assert limits().small == 7
    finally:
        set_process_default(small_array=Settings().small_array)
    assert agree()


def test_block_of_code() -> None:
    before = current()
    with config(lazy="never", threads=3) as inside:
        assert current() is inside
        assert (inside.lazy, inside.threads) == ("never", 3)
        with config(threads=5):
            assert (current().lazy, current().threads) == ("never", 5)
        assert current().threads == 3
    assert current() is before


def test_block_ends_with_an_exception() -> None:
    before = current()
    with pytest.raises(ZeroDivisionError), config(threads=7):
        1 / 0  # noqa: B018
    assert current() is before


def test_one_object_can_be_entered_again() -> None:
    block = config(threads=2)
    for _ in range(2):
        with block, block:
            assert current().threads == 2
    assert current().threads != 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"thread": 3}, "no setting 'thread'; there are device"),
        (
            {"lazy": "sometimes"},
            "lazy got 'sometimes', takes 'auto', 'always', 'never'",
        ),
        ({"threads": "3"}, "threads got '3', takes int"),
        ({"threads": -1}, "takes a number >= 0"),
        ({"threads": True}, "threads got True, takes int"),
        ({"threads": 2.0}, "takes int"),
        ({"verify_transfers": 1}, "verify_transfers got 1, takes bool"),
        ({"validate": True}, "validate got True, takes str"),
        ({"retry_delay": -0.5}, "takes a number >= 0"),
        ({"fallback": None}, "fallback got None"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**settings)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_whole_numbers_are_fine_for_seconds() -> None:
    with config(retry_delay=1):
        assert type(current().retry_delay) is float


def test_environment() -> None:
    found = from_environment(
        {
            "DCARRAY_DEVICE": "cpu",
            "DCARRAY_THREADS": "4",
            "DCARRAY_RETRY_DELAY": "0.5",
            "DCARRAY_VALIDATE": "cpu",
            "DCARRAY_VERIFY_TRANSFERS": "1",
            "DCARRAY_CLEAR_BUFFERS": "False",
            "DCARRAY_LAZY": "",
            "PATH": "/bin",
        }
    )
    assert found == Settings(
        device="cpu",
        threads=4,
        retry_delay=0.5,
        validate="cpu",
        verify_transfers=True,
        clear_buffers=False,
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("DCARRAY_THREADS", "many"),
        ("DCARRAY_THREADS", "-2"),
        ("DCARRAY_VERIFY_TRANSFERS", "perhaps"),
        ("DCARRAY_FALLBACK", "no"),
        ("DCARRAY_RETRY_DELAY", "soon"),
    ],
)
def test_wrong_environment(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?i){variable.partition('_')[2]}.*{text}"):
        from_environment({variable: text})


def test_threads_have_their_own_blocks() -> None:
    found: list[int] = []
    with config(threads=9):
        thread = threading.Thread(target=lambda: found.append(current().threads))
        thread.start()
        thread.join()
    assert found == [Settings().threads] or found != [9]


def test_tasks_have_their_own_blocks() -> None:
    async def task(number: int) -> int:
        with config(threads=number):
            await asyncio.sleep(0.001)
            return current().threads

    async def both() -> list[int]:
        return await asyncio.gather(*[task(number) for number in range(1, 6)])

    assert asyncio.run(both()) == [1, 2, 3, 4, 5]


def test_default_of_the_process() -> None:
    before = current().max_group_nodes
    found: list[int] = []
    set_process_default(max_group_nodes=17)
    try:
        thread = threading.Thread(
            target=lambda: found.append(current().max_group_nodes)
        )
        thread.start()
        thread.join()
        assert found == [current().max_group_nodes] == [17]
        with config(max_group_nodes=18):
            set_process_default(max_group_nodes=19)
            assert current().max_group_nodes == 18
        assert current().max_group_nodes == 19
        with pytest.raises(ConfigError):
            set_process_default(max_group_nodes="many")
    finally:
        set_process_default(max_group_nodes=before)


def test_eager_below() -> None:
    with config(small_array=100):
        assert limits().whole == 500
        with config(lazy="auto"):
            assert current().eager_below == 100
        with config(lazy="always"):
            assert current().eager_below == 0
        with config(lazy="never"):
            assert current().eager_below == sys.maxsize


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        current().threads = 3  # type: ignore[misc]


def test_log_level(caplog: pytest.LogCaptureFixture) -> None:
    with config(log_level="error"):
        logger().warning("not heard")
    with config(log_level="info"):
        logger().info("heard")
    assert [record.message for record in caplog.records] == ["heard"]
