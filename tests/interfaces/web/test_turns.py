"""One at a time, the newest first; nobody who gives up keeps the others out."""

import asyncio

import pytest

from headwork.interfaces.web.turns import NewestFirst


async def take(turns, order, name):
    async with turns:
        order.append(name)
        await asyncio.sleep(0.01)


def test_the_newest_comes_next_and_everybody_comes():
    async def run():
        turns, order = NewestFirst(), []
        await asyncio.gather(*(take(turns, order, name) for name in "abcd"))
        await take(turns, order, "later")
        return order

    assert asyncio.run(run()) == ["a", "d", "c", "b", "later"]


@pytest.mark.parametrize("when", [0.005, 0.0125], ids=["while it waits", "about when it is let in"])
def test_who_gives_up_is_passed_over(when):
    async def run():
        turns, order = NewestFirst(), []
        tasks = [asyncio.create_task(take(turns, order, name)) for name in "abc"]
        await asyncio.sleep(when)
        tasks[2].cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
        return order

    assert [name for name in asyncio.run(run()) if name != "c"] == ["a", "b"]


def test_who_is_given_a_turn_in_the_moment_of_giving_up_passes_it_on():
    async def run():
        turns, order = NewestFirst(), []
        async with turns:
            tasks = [asyncio.create_task(take(turns, order, name)) for name in "ab"]
            await asyncio.sleep(0)  # both wait
        tasks[1].cancel()  # its turn was given just now
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
        return order

    assert asyncio.run(run()) == ["a"]


def test_a_fault_inside_lets_the_next_one_in():
    async def run():
        turns = NewestFirst()
        with pytest.raises(ValueError, match="inside"):
            async with turns:
                raise ValueError("inside")
        order = []
        await asyncio.wait_for(take(turns, order, "next"), 2)
        return order

    assert asyncio.run(run()) == ["next"]
