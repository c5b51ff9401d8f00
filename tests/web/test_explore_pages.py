"""What an officer clicks who does not type: back and back again, safe variants, what is old."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

from servers import PASSWORD, form_token, team_ledger, waited
from starlette.datastructures import QueryParams

import cellbounds as cb
from cellbounds.web import tasks
from cellbounds.web.choices import Choice
from cellbounds.web.client import Client
from cellbounds.web.shelf import stamp_of


def shown(client, address):
    """A part of a page, as soon as it is worked out; what looks again is told by the page."""

    def once():
        nonlocal address
        text = client.get(address, headers={"HX-Request": "true"}).text
        again = re.search(r'hx-get="([^"]+)" hx-trigger="load delay', text)
        address = unescape(again[1]) if again else address
        return None if again or 'http-equiv="refresh"' in text else text

    return waited(once)


def test_undo_goes_back_step_by_step(user):
    designs = [f"s=[education|county]@{digits}" for digits in (3, 2, 1)]
    data = {"form_token": form_token(user)}
    user.post("/table/delinquent.csv/forget", data=data)
    for query in (*designs, designs[0]):
        shown(user, f"/table/delinquent.csv?{query}")
    query, seen = designs[0], []
    while "/undo?" in shown(user, f"/table/delinquent.csv?{query}"):
        done = user.get(f"/table/delinquent.csv/undo?{query}")
        assert done.status_code == 303
        query = urlsplit(done.headers["location"]).query
        seen.append(parse_qs(query)["s"][0][-1])
    assert seen == ["1", "2", "3"]
    # Where nothing was before, it stays.
    done = user.get(f"/table/delinquent.csv/undo?{query}")
    assert urlsplit(done.headers["location"]).query == query


def test_every_suggestion_can_be_clicked(user):
    text = shown(user, "/table/delinquent.csv/safe?s=[county,education]")
    listed = re.search(r'<ol class="suggestions">(.+?)</ol>', text, re.DOTALL)[1]
    assert listed.count("<li>") == listed.count('<li><a href="/table/delinquent.csv?') > 3
    hidden = re.search(r'href="([^"]+)"><code>\[county,education\]&lt;4, N', listed)[1]
    assert "h=" not in hidden
    assert "SAFE" in shown(user, unescape(hidden))


def test_safe_variants_are_safe_with_what_is_out(tmp_path):
    """The design is safe by itself: the two releases that are out forbid it."""
    place, file = team_ledger(tmp_path)
    table, stamp = cb.read_table(file), stamp_of(str(file))
    choice = Choice.of(QueryParams("s=[region,ill]&n=0"), table.domain)
    given = str(file), stamp, choice
    alone = tasks.made_safe(*given, "", (), 60.0, lambda *_: None)
    assert alone["outcome"] == "safe"
    assert not alone["suggestions"]
    found = tasks.made_safe(*given, str(place), (str(file),), 300.0, lambda *_: None)
    assert found["outcome"] == "unsafe"
    assert len(found["suggestions"]) > 1
    for one in found["suggestions"]:
        assert one["together"] == "safe"
        variant = Choice.of(QueryParams(one["query"]), table.domain).release(table)
        assert cb.Ledger.open(place).ask(variant, table=table).outcome.value == "safe"
    assert [way["together"] for way in found["ways"] if way["made"]]
    assert all(way["together"] for way in found["ways"] if way["made"])


def test_the_page_looks_for_variants_of_what_is_safe_by_itself(team):
    with team.person("cleo") as cleo:
        assert "Look for safe variants" in shown(cleo, "/table/table?s=[region,ill]&n=0")


def test_what_was_clicked_away_is_not_worked_out(team):
    """Whoever clicks fast does not wait for what nobody looks at any more, nor is refused."""
    with team.person("cleo") as cleo:
        parts = {"HX-Request": "true"}
        for digits in range(7):
            address = f"/table/table/together?s=[ill|region,sex]@{digits}"
            assert cleo.get(address, headers=parts).status_code == 200
        assert "pieces of work are under way" not in cleo.get("/table/table", headers=parts).text
        assert cleo.get("/history").status_code == 200


def test_a_key_of_other_work_shows_nothing_of_it(user):
    """Addresses are passed on and put together: what is shown belongs to what they name."""
    text = user.get("/table/delinquent.csv/safe?s=[county]~3").text
    key = re.search(r"job=([\w-]+)", text)
    for address in ("safe?s=[county,education]", "together?s=[county]", "answer/{}?s=[education]"):
        for other in (key[1] if key else "", "x"):
            asked = address.format(other) if "{}" in address else f"{address}&job={other}"
            found = user.get(f"/table/delinquent.csv/{asked}")
            assert found.status_code in (200, 404)
            assert "internal" not in found.text


def test_the_queue_says_what_is_old_and_what_it_leaves_out(team):
    ledger, table = cb.Ledger.open(team.place), cb.read_table(team.table)
    client = Client.login(team.base, "ben", PASSWORD)
    number = client.submit(["[region]~3"], why="to grow old")["number"]
    requests = ledger.requests
    for turn in range(51):
        request = requests.submit("[region]", who="ben", why=f"turn {turn}")
        requests.withdraw(request.number, who="ben")
    with team.person("dan") as dan:
        row = rf'<a href="/requests/{number}">.+?</tr>'
        verdict = waited(
            lambda: re.search(rf"{row}", dan.get("/requests").text) and _judged(dan, row)
        )
        assert "before the last change" not in verdict
        ledger.commit("[ill]~10", table=table, who="cleo", why="meanwhile", total=False)
        assert "before the last change" in _judged(dan, row)
        text = dan.get("/requests").text
        assert "These are the last 50" in text
        assert "turn 0<" not in text
        assert "These are the last" not in dan.get("/requests?all=1").text
        assert dan.get("/requests?all=1").text.count("<tr>") > text.count("<tr>")
    with team.person("ben") as ben:
        data = {"form_token": form_token(ben)}
        assert ben.post(f"/requests/{number}/withdraw", data=data).status_code == 303


def _judged(client, row):
    found = re.search(row, client.get("/requests").text)[0]
    return None if "being judged" in found else found
