"""How fast the machine is: read from the last pieces of work, whatever load came before."""

import pytest

from fairground.recommendation.pace import LONG, SHORT, Pace
from fairground.recommendation.race_clock import TimeUpError


class Machine:
    """A clock and a processor that the test moves on."""

    def __init__(self):
        self.time = self.worked = 0.0
        self.pace = Pace(now=lambda: self.time, work=lambda: self.worked)

    def works(self, *, seconds, processor, threads=1):
        with self.pace.measured(threads) as found:
            self.time += seconds
            self.worked += processor
        return found


def test_an_idle_machine_takes_a_second_for_a_second():
    machine = Machine()
    assert machine.pace.value == 1.0
    machine.works(seconds=2.0, processor=2.0)
    assert machine.pace.seconds(3.0) == 3.0


def test_half_of_a_processor_takes_twice_as_long():
    machine = Machine()
    found = machine.works(seconds=4.0, processor=2.0)
    assert (found.seconds, found.work) == (4.0, 2.0)
    assert machine.pace.seconds(1.5) == 3.0


def test_two_threads_do_two_seconds_of_work_in_one():
    machine = Machine()
    assert machine.works(seconds=1.0, processor=2.0, threads=2).work == 1.0
    assert machine.pace.value == 1.0


def test_the_pace_follows_the_load_and_never_promises_more_than_an_idle_machine():
    machine = Machine()
    machine.works(seconds=LONG, processor=LONG)
    machine.works(seconds=SHORT, processor=SHORT / 8)
    assert machine.pace.value == 8.0
    for _ in range(4):
        machine.works(seconds=LONG / 4, processor=LONG / 4)
    assert machine.pace.value == 1.0
    machine.works(seconds=LONG, processor=3 * LONG)
    assert machine.pace.value == 1.0


def test_a_lucky_moment_is_not_believed():
    machine = Machine()
    machine.works(seconds=30.0, processor=5.0)
    machine.works(seconds=SHORT, processor=SHORT)
    # 38 seconds for 13 of work
    assert machine.pace.value == pytest.approx(38 / 13)


def test_work_that_is_stopped_counts_too():
    machine = Machine()

    def stopped():
        with machine.pace.measured():
            machine.time += 6.0
            machine.worked += 2.0
            raise TimeUpError

    with pytest.raises(TimeUpError):
        stopped()
    assert machine.pace.value == pytest.approx(3.0)
