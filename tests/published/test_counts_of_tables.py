"""How many tables fit what the documents publish: every count, by the library and listed."""

from __future__ import annotations

import pytest

import cellbounds as cb
from cellbounds.papers import document001
from figures import EXPECTED, fractions, two_way

KOCH = EXPECTED["document_000"]["koch4"]
DOCUMENT_001 = EXPECTED["document_001"]
DOCUMENT_002 = EXPECTED["document_002"]
DOCUMENT_003 = EXPECTED["document_003"]
DOCUMENT_004 = EXPECTED["document_004"]
ANALGESIC = DOCUMENT_004["analgesic_rounded"]
LISTED = 2_000  # tables that a test may list one by one

FULL = ("center", "status", "treatment")
PARTIAL = {
    name: [variable for variable in FULL if variable[0].upper() in name.split("|")[1]]
    for name in KOCH["partial"]
}


def check(release: cb.Release, count: int) -> None:
    """The count; and the tables themselves, if they are few: all different, all consistent."""
    assert cb.count_tables(release) == count
    if count <= LISTED:
        found = {table.counts.tobytes(): table for table in cb.tables(release)}
        assert len(found) == count == sum(1 for _ in cb.tables(release))
        assert not any(cb.violations(table, release) for table in found.values())


def counts(cases, *keys):
    """Cases that have a count, named."""
    return [
        pytest.param(case, id=" ".join(str(case[key]) for key in keys))
        for case in cases
        if "count" in case
    ]


def each_lower(cases):
    return [
        pytest.param(
            case, lower, id=f"{case['rounding']}, {case['eps']} strict={case['strict']} l={lower}"
        )
        for case in cases
        for lower in case["cell_lower"]
    ]


# Documents 003 and 000: exact conditionals.


@pytest.mark.parametrize(
    ("statement", "count"), [("[mp3|gender]", 9), ("[gender|mp3]", 4), ("[mp3,gender]", 1)]
)
def test_mp3(statement, count):
    check(cb.publish(cb.datasets.read("mp3"), statement), count)


def test_mp3_as_expected():
    rows, columns = (DOCUMENT_003["mp3"][key] for key in ("rows", "columns"))
    assert (rows["count"], columns["count"]) == (9, 4)
    release = cb.publish(cb.datasets.read("mp3"), "[gender|mp3]")
    assert sorted(table.counts.tolist() for table in cb.tables(release)) == columns["tables"]


def test_delinquent_and_ten_times_delinquent():
    table = cb.datasets.read("delinquent")
    check(cb.publish(table, "[education|county]"), DOCUMENT_003["delinquent"]["count"])
    assert [one.counts.tolist() for one in cb.tables(cb.publish(table, "[education|county]"))] == [
        table.counts.tolist()
    ]
    ten = cb.publish(cb.Table(table.domain, 10 * table.counts), "[education|county]")
    check(ten, DOCUMENT_003["delinquent_times_10"]["count"])
    assert DOCUMENT_003["delinquent_times_10"]["count"] == 1825


def test_koch_given_full_conditionals():
    table = cb.datasets.read("koch4")
    check(cb.publish(table, f"[recovery|{','.join(FULL)}]"), KOCH["full"]["count"])
    assert KOCH["full"]["count"] == 15


@pytest.mark.parametrize("name", [name for name in PARTIAL if "count" in KOCH["partial"][name]])
def test_koch_given_partial_conditionals(name):
    """One margin fits, and each of its counts is split over the variables left out."""
    release = cb.publish(cb.datasets.read("koch4"), f"[recovery|{','.join(PARTIAL[name])}]")
    check(release, KOCH["partial"][name]["count"])


@pytest.mark.parametrize("case", counts(KOCH["rounded"], "rounding", "eps", "cell_lower"))
def test_koch_rounded(case):
    release = two_way(
        case["rates"], 193, eps=case["eps"], strict=case["strict"], lower=case["cell_lower"]
    )
    check(release, case["count"])


# Document 004: rounded conditionals.


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("run", counts(DOCUMENT_004["table_1"]["runs"], "table", "eps", "strict"))
def test_table_1_and_its_roundings(run, lower):
    release = two_way(run["rates"], 48, eps=run["eps"], strict=run["strict"], lower=lower)
    check(release, run["count"])


@pytest.mark.parametrize(("case", "lower"), each_lower(DOCUMENT_004["delinquent_rounded"]))
def test_delinquent_rounded(case, lower):
    """At least `lower` in every cell; up to 157,496,402,139,342 tables, and none."""
    release = two_way(case["rates"], 135, eps=case["eps"], strict=case["strict"], lower=lower)
    check(release, case["count"])


def test_delinquent_rounded_covers_what_is_large():
    found = {case["count"] for case in DOCUMENT_004["delinquent_rounded"]}
    assert {157_496_402_139_342, 63_167_039_741_158, 29_404_619_407, 403, 1, 0} <= found


# Document 001: margins.


@pytest.mark.parametrize("case", counts(DOCUMENT_001["census3"]["given"], "margins"))
def test_census(case):
    check(cb.publish(cb.datasets.read("census3"), *case["margins"]), case["count"])


@pytest.mark.parametrize("case", counts(DOCUMENT_001["collapsed"]["given"], "margins"))
def test_census_collapsed(case):
    check(cb.publish(document001.collapsed(), *case["margins"]), case["count"])


def test_census_counts_as_written():
    found = {tuple(one["margins"]): one.get("count") for one in DOCUMENT_001["census3"]["given"]}
    assert found["[race,income]", "[race,gender]"] == 16_788_429
    assert found["[race,gender]", "[gender,income]"] == 3_415_500
    assert sorted(count for count in found.values() if count)[0] == 441
    assert DOCUMENT_001["collapsed"]["given"][-1]["count"] == 23


def test_the_two_way_table_with_its_totals():
    expected = DOCUMENT_001["two_way"]
    domain = cb.Domain({"income": ["<=135K", ">135K"], "gender": ["M", "F", "T/Nb"]})
    margins = [cb.Margin(["income"], expected["rows"]), cb.Margin(["gender"], expected["columns"])]
    check(cb.Release(domain, margins), expected["count"])


# Document 002: rounded conditionals of the analgesic table, two-way and with a variable left out.


@pytest.mark.parametrize("case", counts(ANALGESIC["rows"], "eps", "strict"))
def test_analgesic_two_way(case):
    release = two_way(case["rates"], 193, eps=case["eps"], strict=case["strict"])
    assert cb.count_tables(release) == case["count"]
    if case["count"] <= LISTED:
        check(release, case["count"])


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "exact rates"),
        ({"eps": "0.05", "rule": "interval"}, "within 0.05"),
        ({"eps": "0.05", "strict": True, "rule": "interval"}, "within 0.05, strict"),
        ({"eps": "0.1", "rule": "interval"}, "within 0.1"),
    ],
    ids=str,
)
def test_analgesic_with_status_left_out(options, key):
    digits = "@1" if options else ""
    table = cb.datasets.read("analgesic")
    release = cb.publish(table, f"[response|treatment]{digits}", **options)
    check(release, DOCUMENT_002["three_way"][key]["count"])


def test_analgesic_counts_agree_between_documents():
    three_way = DOCUMENT_002["three_way"]
    exact, rounded = (three_way[key]["count"] for key in ("exact rates", "within 0.05"))
    assert exact == ANALGESIC["tables_2x2x2_given_exact_rates"] == 3_735_270
    assert rounded == ANALGESIC["tables_2x2x2_given_rates_within_0.05"] == 31_529_550_048
    table = cb.datasets.read("analgesic")
    published = cb.publish(table, "[response|treatment]@1", eps="0.05", rule="interval").statements[
        0
    ]
    assert published.rates.tolist() == fractions(ANALGESIC["rows"][0]["rates"])
