"""What somebody sends who means harm, or who does not know better: it is refused, and goes on."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import socket
import zipfile

import openpyxl
import pytest
from reliability.load.command import raced
from servers import PASSWORD, form_token, waited

from cellbounds.web.client import Client

CSV = b"a,b,count\nx,u,3\nx,v,9\ny,u,8\ny,v,12\n"
JSON = {"Content-Type": "application/json"}
SCRIPT = "<script>document.title='!'</script>"


@pytest.fixture(scope="module")
def ask(alone):
    """JSON for programs, with the token of the one user."""
    headers = {"Authorization": f"Bearer {alone.token}"}
    with alone.client(headers=headers) as client:
        yield lambda path, **how: client.post(f"/api/1{path}", **how)


def raw(alone, text, *, more=b""):
    """What comes back for bytes that are sent as they are."""
    with socket.create_connection(("127.0.0.1", alone.port), timeout=60) as line:
        line.sendall(text.replace("PORT", str(alone.port)).encode() + more)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := line.recv(65536):
                answer += part
        return answer


JUDGED = {"table": "delinquent.csv", "statements": ["[county]"]}


@pytest.mark.parametrize(
    "body",
    [
        [],
        None,
        "x",
        {},
        {**JUDGED, "statements": "[county]"},
        {**JUDGED, "statements": [1]},
        {**JUDGED, "statements": []},
        {**JUDGED, "statements": ["[county]"] * 50},
        {**JUDGED, "statements": [["[county]"]]},
        {**JUDGED, "statements": ["[" * 5000]},
        {**JUDGED, "statements": ["[county]@" + "9" * 5000]},
        {**JUDGED, "statements": ["[\ud800]"]},
        {**JUDGED, "statements": ["[county]\x00"]},
        {**JUDGED, "total": "yes"},
        {**JUDGED, "total": 1},
        {**JUDGED, "policy": "/etc/passwd"},
        {**JUDGED, "policy": None},
        {**JUDGED, "more": 1},
    ],
)
def test_json_of_another_form_is_refused_in_a_sentence(ask, body):
    answer = ask("/judge", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]
    assert "internal" not in answer.text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\xff\xfe",
        b'{"table": ' + b"9" * 10_000 + b"}",
        json.dumps({**JUDGED, "table": "x" * 1_000_000}).encode(),
        b'{"table": NaN, "statements": []}',
    ],
)
def test_what_is_no_json_is_refused(ask, content):
    answer = ask("/judge", content=content, headers=JSON)
    assert answer.status_code in (400, 404, 413), answer.text
    assert len(answer.text) < 2_000_000
    assert "internal" not in answer.text


def test_json_is_what_a_program_says_it_is(ask):
    """A form of another site can be sent as plain text, and as JSON it cannot."""
    text = json.dumps(JUDGED).encode()
    for media in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        assert ask("/judge", content=text, headers={"Content-Type": media}).status_code == 400
    said = "Application/JSON; charset=utf-8"
    assert ask("/judge", content=text, headers={"Content-Type": said}).status_code == 200


def bomb():
    """A workbook of a few kilobytes, which unpacks to far more than is read."""
    packed = io.BytesIO()
    openpyxl.Workbook().save(packed)
    bigger = io.BytesIO()
    with (
        zipfile.ZipFile(packed) as whole,
        zipfile.ZipFile(bigger, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            made.writestr(name, content + b" " * 2**28 if "sheet1" in name else content)
    return bigger.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.xlsx", bomb),
        ("bomb.csv", lambda: gzip.compress(b"a,b,count\n" + b"x,y,1\n" * 10 + b"z" * 2**28, 9)),
        ("nested.json", lambda: b"[" * 500_000),
    ],
)
def test_what_unpacks_to_far_more_is_refused(user, name, content):
    packed = content()
    assert len(packed) < 2**20
    files = {"file": (name, packed)}
    done = user.post("/drop", data={"form_token": form_token(user)}, files=files)
    assert done.status_code == 400, done.text
    assert user.get("/").status_code == 200


NAMES = [
    'x"; filename="y.csv',
    "x\r\nSet-Cookie: a=b",
    SCRIPT + ".csv",
    "=cmd|' /C calc'!A0.csv",
    "a" * 3000 + ".csv",
    "\u202egpj.csv",
]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_file_is_called(user, name):
    """By hand: libraries refuse to send such names."""
    plain = name.replace('"', "%22").replace("\r\n", "%0D%0A").encode()
    boundary = b"----x"
    disposition = b'Content-Disposition: form-data; name="file"; filename="' + plain + b'"'
    body = b"--%s\r\n%s\r\n\r\n%s\r\n--%s--\r\n" % (boundary, disposition, CSV, boundary)
    headers = {
        "Content-Type": "multipart/form-data; boundary=----x",
        "X-Form-Token": form_token(user),
    }
    done = user.post("/drop", content=body, headers=headers)
    assert done.status_code == 303, done.text
    assert "set-cookie" not in done.headers
    address = done.headers["location"]
    page = user.get(address)
    assert "<script>document" not in page.text
    assert "\u202e" not in page.text
    taken = user.get(f"{address}/file.zip")
    assert taken.headers["content-disposition"] == 'attachment; filename="release.zip"'
    assert user.post(f"{address}/remove", data={"form_token": form_token(user)}).status_code == 303


@pytest.mark.parametrize("name", ["\U0001f600" * 300 + ".csv", "é" * 500, "a" * 300])
def test_a_name_may_be_longer_than_names_of_files(team, name):
    with team.person("ben") as ben:
        files = [("file", (name, b"sex,f,m\nNorth,1,2\n"))]
        data = {"form_token": form_token(ben), "why": "a long name"}
        assert ben.post("/requests/import", data=data, files=files).status_code == 400
        sent = ben.post("/drop", data=data, files=files)
        assert sent.status_code == 303, sent.text
        assert ben.post(f"{sent.headers['location']}/remove", data=data).status_code == 303


def test_where_the_server_keeps_files_is_not_said(user, team):
    """Messages and pages name files as people do."""
    ragged = b"a,b,count\nx,u,3\nx,u,v,9\n"
    hidden = b"region,f,m,Total\nNorth,x,4,6\nSouth,7,8,15\nTotal,9,12,21\n"
    data = {"form_token": form_token(user)}
    texts = []
    for name, text in (("été & co.csv", ragged), ('m\'a "x" & co.csv', hidden)):
        sent = user.post("/drop", data=data, files={"file": (name, text)})
        address = sent.headers.get("location")
        page = waited(lambda to=address: _done(user.get(to))) if address else sent
        texts.append(page.text)
        if address:
            user.post(f"/table/{address.rpartition('/')[2]}/remove", data=data)
    with team.person("ben") as ben:
        data = {"form_token": form_token(ben), "why": "x"}
        files = [("file", ("été & co.csv", b"sex,f,m\nNorth,1,2\n"))]
        texts.append(ben.post("/requests/import", data=data, files=files).text)
    for text in texts:
        assert re.search(r"[^/]\b\S+ &amp; co\.csv", text), text
        assert "cellbounds/" not in text
        assert not re.search(r"/\.work|/[uh][\w-]{12}/", text)


def _done(answer):
    return None if 'http-equiv="refresh"' in answer.text else answer


def test_labels_are_no_formulas_in_what_is_taken_away(user):
    """In a workbook and in a CSV file; a release file is for programs."""
    text = b"a,b,count\n=1+1,u,3\n=1+1,v,9\n@SUM(A1),u,8\n@SUM(A1),v,12\n"
    files = {"file": ("formulas.csv", text)}
    done = user.post("/drop", data={"form_token": form_token(user)}, files=files)
    address = done.headers["location"]
    query = "s=[a,b]"
    book = user.get(f"{address}/file.xlsx?{query}").content
    cells = [
        cell
        for sheet in openpyxl.load_workbook(io.BytesIO(book)).worksheets
        for row in sheet.iter_rows()
        for cell in row
    ]
    assert any("=1+1" in str(cell.value) for cell in cells)
    assert all(cell.data_type != "f" for cell in cells)
    lines = user.get(f"{address}/file.csv?{query}&way=suppress").text.splitlines()
    assert len(lines) > 4
    assert not any(line.strip('"').startswith(("=", "@")) for line in lines)
    user.post(f"{address}/remove", data={"form_token": form_token(user)})


@pytest.mark.parametrize("way", ["suppress", "intervals", "round", "recode"])
def test_protected_tables_can_be_taken_away(user, way):
    address = f"/table/delinquent.csv/file.csv?s=[county,education]&way={way}"
    done = user.get(address)
    assert done.status_code == 200, done.text
    assert "county" in done.text.splitlines()[0]


def test_a_way_that_there_is_not(user):
    address = "/table/delinquent.csv/file.csv?s=[county,education]&way=../../etc"
    assert user.get(address).status_code == 400


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example/",
        "//evil.example/requests/",
        "/%5C%5Cevil.example",
        "/login?next=http://evil.example",
        "/enter?token=x&next=//evil.example",
        "http://evil.example/",
    ],
)
def test_no_address_leads_to_another_site(alone, target):
    request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n"
    head = raw(alone, request).partition(b"\r\n\r\n")[0].lower()
    assert b"location: " not in head or b"evil" not in head.partition(b"location: ")[2]
    assert head.split(b" ")[1] in (b"200", b"303", b"307", b"400", b"401", b"404")


@pytest.mark.parametrize(
    "request_",
    [
        "GET / HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1:PORT\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "POST /drop HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /drop HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + "y" * 100_000 + "\r\n\r\n",
        "\x00\x01\x02\r\n\r\n",
    ],
)
def test_what_is_hardly_http_is_refused(alone, request_):
    answer = raw(alone, request_.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
    status = answer.split(b" ")[1] if answer else b"none"
    assert status in (b"400", b"401", b"403", b"413", b"421", b"none")
    assert b"delinquent" not in answer


def test_many_who_say_nothing_keep_nobody_out(alone, user):
    with contextlib.ExitStack() as lines:
        for _ in range(200):
            line = socket.create_connection(("127.0.0.1", alone.port), timeout=60)
            lines.enter_context(line)
            line.sendall(b"POST /drop HTTP/1.1\r\nHost: x\r\n")
        assert user.get("/").status_code == 200


def test_eight_approvals_that_race_release_nothing_unsafe(tmp_path):
    """Safe in pairs, and not all together: the ledger is asked afterwards."""
    assert raced(tmp_path, 1) == []


def test_strangers_may_send_little(alone, team):
    """Before anybody logs in a body of some kilobytes is all that is taken."""
    for server in (alone, team):
        with server.client() as stranger:
            done = stranger.post("/login", data={"name": "x" * 200_000, "password": "y"})
            assert done.status_code == 413
    head = "POST /login HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\n"
    head += "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
    block = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    assert b" 413 " in raw(team, head, more=block * 5).split(b"\r\n")[0]


def test_forms_without_files_are_short(user):
    done = user.post("/requests", data={"form_token": form_token(user), "why": "x" * 2_000_000})
    assert done.status_code == 413


def test_a_session_is_not_one_that_somebody_chose(alone, team):
    """Whoever plants a cookie does not know the session that comes of logging in."""
    planted = f"cellbounds-{team.port}"
    with team.client(cookies={planted: "planted"}) as client:
        done = client.post("/login", data={"name": "ben", "password": PASSWORD})
        given = done.cookies[planted]
        assert given != "planted"
        assert len(given) > 40
    with team.client(cookies={planted: "planted"}) as thief:
        assert thief.get("/").status_code == 303
    with alone.client(cookies={f"cellbounds-{alone.port}": "planted"}) as thief:
        assert thief.get("/").status_code == 401


def test_scripts_in_reasons_and_names_stay_text(team):
    with team.person("ada") as ada:
        data = {"form_token": form_token(ada), "name": SCRIPT, "password": PASSWORD}
        data["role.asks"] = "1"
        assert ada.post("/people", data=data).status_code == 303
        assert SCRIPT not in ada.get("/people").text
        assert "&lt;script&gt;document" in ada.get("/people").text
    number = Client.login(team.base, SCRIPT, PASSWORD).submit(
        ["[region]~10"], why=SCRIPT, batch=SCRIPT
    )["number"]
    with team.person("dan") as dan:
        pages = [dan.get(one).text for one in ("/requests", f"/requests/{number}")]
        history = _history(dan)
        # What was done to people is told, and the way back to the other pages.
        assert "document.title=&#39;!&#39;&lt;/script&gt;: added; asks." in history
        assert '<a href="/requests"' in history
        for text in (*pages, history):
            assert "document.title" in text
            assert SCRIPT not in text
        data = {"form_token": form_token(dan), "decision": "refuse", "why": SCRIPT}
        waited(lambda: dan.post(f"/requests/{number}/decide", data=data).status_code == 303)
        waited(lambda: "REFUSED" in dan.get(f"/requests/{number}").text)
        assert SCRIPT not in dan.get(f"/requests/{number}").text


def _history(client):
    text = client.get("/history").text
    while again := re.search(r'http-equiv="refresh" content="1; url=([^"]+)"', text):
        text = client.get(again[1].replace("&amp;", "&")).text
    return text


@pytest.mark.parametrize(
    "asked",
    [
        {"statements": ["[region]"], "why": "\ud800"},
        {"statements": ["[region]"], "why": "x" * (2**15 + 1)},
        {"statements": ["[region]"], "why": " "},
        {"statements": ["[region]"], "why": "x", "batch": "y" * 5_000},
        {"statements": ["[region]"], "why": "x", "batch": "\ud800"},
        {"statements": ["[region]"] * 201, "why": "x"},
        {"statements": ["[region]" + " " * 100_000], "why": "x"},
    ],
)
def test_what_would_stay_in_the_chain_is_short_and_text(team, asked):
    token = Client.login(team.base, "ben", PASSWORD).token
    with team.client(headers={"Authorization": f"Bearer {token}"}) as ben:
        answer = ben.post("/api/1/requests", content=json.dumps(asked), headers=JSON)
    assert answer.status_code == 400, answer.text[:200]
    assert "internal" not in answer.text
