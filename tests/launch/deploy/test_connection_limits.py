"""Who is let in and who has to go, on a clock and with connections by hand."""

import asyncio

import pytest

from tagma.launch.deploy.connection_limits import ByteBudget, Connections, Limits, source


class House:
    """Connections with names, and who was closed."""

    def __init__(self, **limits) -> None:
        self.connections = Connections(Limits(**limits))
        self.closed: list[str] = []

    def admit(self, name: str, address: str, now: float = 0.0):
        return self.connections.admit(address, lambda: self.closed.append(name), now)


def test_the_longest_silent_of_an_address_makes_room_for_its_next():
    house = House(per_address=2)
    assert all(house.admit(name, "a") for name in ("first", "second"))
    assert house.admit("third", "a", now=1.0)
    assert house.closed == ["first"]
    assert house.connections.at("a") == len(house.connections) == 2


def test_a_full_house_makes_room_at_the_address_that_has_most():
    house = House(connections=3)
    for name, address in (("b1", "b"), ("a1", "a"), ("a2", "a")):
        assert house.admit(name, address)
    assert house.admit("c1", "c")
    assert house.closed == ["a1"]
    assert len(house.connections) == 3


def test_whoever_is_answered_is_not_closed_and_the_newcomer_is_refused():
    house = House(per_address=1)
    first = house.admit("first", "a")
    with house.connections.answering(first):
        assert house.admit("second", "a", now=1.0) is None
    assert house.closed == []
    assert house.admit("third", "a", now=2.0)
    assert house.closed == ["first"]


def test_an_answer_makes_a_connection_the_last_to_go():
    house = House(per_address=2)
    first, _ = house.admit("first", "a"), house.admit("second", "a")
    with house.connections.answering(first):
        pass
    house.admit("third", "a", now=1.0)
    assert house.closed == ["second"]


def test_arrivals_of_an_address_are_limited_per_second_and_those_of_others_are_not():
    house = House(per_address=2, arrivals=1.0)
    came = [house.admit(str(number), "a", now=0.0) is not None for number in range(4)]
    assert came == [True, True, False, False]
    assert house.admit("other", "b", now=0.0)
    assert house.admit("later", "a", now=1.0)
    assert house.admit("too soon", "a", now=1.5) is None


def test_a_key_has_its_share_at_each_address():
    house = House(per_key=1)
    first, second, elsewhere = (house.admit("", where) for where in ("a", "a", "b"))
    with house.connections.request(first, "key") as allowed:
        assert allowed
        with house.connections.request(second, "key") as allowed:
            assert not allowed
        with house.connections.request(second, "other") as allowed:
            assert allowed
        with house.connections.request(elsewhere, "key") as allowed:
            assert allowed
    with house.connections.request(second, "key") as allowed:
        assert allowed


def test_nothing_is_remembered_of_those_who_left():
    house = House()
    for number in range(5000):
        connection = house.admit("", f"address {number}")
        with house.connections.request(connection, f"key {number}"):
            pass
        house.connections.remove(connection)
        house.connections.remove(connection)  # twice is once
    assert len(house.connections) == 0
    kept = {name: len(part) for name, part in vars(house.connections).items() if name != "_limits"}
    assert kept == {"_waiting": 0, "_count": 0, "_requests": 0, "_arrivals": 4096}


def test_memory_is_kept_by_address_and_given_back():
    async def play():
        budget, order = ByteBudget(80), []

        async def hold(address, name, until):
            async with budget.reserved(address, 10):
                order.append(name)
                await until.wait()

        release = asyncio.Event()
        first = asyncio.create_task(hold("a", "first", release))
        await asyncio.sleep(0)
        second = asyncio.create_task(hold("a", "second of a", asyncio.Event()))
        other = asyncio.create_task(hold("b", "of b", asyncio.Event()))
        await asyncio.sleep(0)
        assert order == ["first", "of b"]
        release.set()
        await first
        while len(order) < 3:
            await asyncio.sleep(0)
        assert order[2] == "second of a"
        second.cancel(), other.cancel()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
    ],
)
def test_an_address_is_what_one_host_may_have(host, address):
    assert source(host) == address
