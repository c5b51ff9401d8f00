"""Whoever should not come in, does not; and what comes in does no harm."""

from __future__ import annotations

import hashlib
import re
import socket
import stat
from pathlib import Path

import pytest
from servers import PASSWORD, Server, form_token, waited

import cellbounds as cb
from cellbounds import web
from cellbounds.web.client import Client, ServerError

ADDRESSES = (
    "/",
    "/table/delinquent.csv",
    "/table/delinquent.csv/file.zip",
    "/requests",
    "/requests/1",
    "/history",
    "/people",
    "/published/x",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_without_a_session_nothing_is_shown(alone, address):
    with alone.client() as stranger:
        answer = stranger.get(address)
    assert answer.status_code == 401
    assert "delinquent" not in answer.text


def test_a_link_is_good_once(alone, user):
    with alone.client() as thief:
        answer = thief.get(alone.said)
        assert answer.status_code == 401
        assert not thief.cookies
        assert thief.get("/").status_code == 401
    assert user.get("/").status_code == 200


def test_the_cookie_is_out_of_reach(alone, user):
    cookie = next(iter(user.cookies.jar))
    assert cookie.name == f"cellbounds-{alone.port}"
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite").lower() == "strict"


@pytest.mark.parametrize("value", ["", "x", "é", "a" * 5000, '"quoted'])
def test_a_made_up_cookie_is_no_session(alone, value):
    with alone.client() as stranger:
        raw = f"cellbounds-{alone.port}={value}".encode()
        assert stranger.get("/", headers={b"Cookie": raw}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_of_the_server_is_refused(user, host):
    """A page whose name was made to point here (DNS rebinding) gets nothing."""
    answer = user.get("/", headers={"Host": host})
    assert answer.status_code in (400, 421)
    assert "delinquent" not in answer.text


POSTED = (
    "/drop",
    "/leave",
    "/people",
    "/table/delinquent.csv/forget",
    "/table/delinquent.csv/remove",
    "/jobs/x/cancel",
    "/requests",
    "/requests/import",
    "/requests/1/decide",
    "/requests/1/withdraw",
)


def test_every_form_is_among_these():
    text = "".join(file.read_text("utf-8") for file in Path(web.__file__).parent.glob("*_pages.py"))
    routes = set(re.findall(r'Route\("([^"]+)", \w+, methods=\["POST"\]\)', text))
    shapes = {
        re.sub(r"/(delinquent\.csv|x|1)(?=/)", "/*", address) for address in (*POSTED, "/login")
    }
    assert {re.sub(r"\{[^}]+\}", "*", route) for route in routes} == shapes


@pytest.mark.parametrize("address", POSTED)
def test_a_forged_form_is_refused(user, address):
    assert user.post(address, data={"form_token": "0" * 64}).status_code == 403
    assert user.post(address, data={}).status_code == 403


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_token(user, header):
    data = {"form_token": form_token(user)}
    done = user.post("/table/delinquent.csv/forget", data=data, headers=header)
    assert done.status_code == 403


def test_nothing_in_a_page_can_run(user):
    for address in ("/", "/table/odd.csv", "/static/web.js"):
        policy = user.get(address).headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
    text = user.get("/table/odd.csv").text
    assert "<script>document" not in text
    assert "<b>odd" not in text
    assert not re.findall(r"<script(?! src=\"/static/)|\son\w+=|<style|style=", text)


def test_htmx_is_as_it_was_published():
    file = Path(web.__file__).parent / "static" / "htmx.min.js"
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    assert found == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
    assert "Zero-Clause BSD" in (file.parent / "htmx.LICENSE").read_text("utf-8")


@pytest.mark.parametrize(
    "address",
    [
        "/static/../settings.py",
        "/static/%2e%2e/settings.py",
        "/static/web.py",
        "/table/..%2f..%2fetc%2fpasswd",
        "/table/%2Fetc%2Fpasswd",
        "/table/delinquent.csv/file.exe",
    ],
)
def test_no_other_file_can_be_asked_for(user, address):
    assert user.get(address).status_code == 404


@pytest.mark.parametrize("name", ["../../../etc/cron.d/x.csv", "..\\..\\x.csv", "/tmp/x.csv", ".."])
def test_a_path_in_a_file_name_leads_nowhere(user, name):
    text = b"a,b,count\nx,u,3\nx,v,9\ny,u,8\ny,v,12\n"
    sent = user.post("/drop", data={"form_token": form_token(user)}, files={"file": (name, text)})
    assert sent.status_code == 303, sent.text
    page = user.get("/").text
    assert "cron.d" not in page
    assert ".." not in re.sub(r"<script.*?</script>", "", page)
    key = sent.headers["location"].rpartition("/")[2]
    data = {"form_token": form_token(user)}
    assert user.post(f"/table/{key}/remove", data=data).status_code == 303
    assert user.get(f"/table/{key}").status_code == 404


def test_what_is_sent_here_is_private_and_deleted(user, tmp_path):
    text = b"a,b,count\nx,u,3\nx,v,9\ny,u,8\ny,v,12\n"
    sent = user.post(
        "/drop", data={"form_token": form_token(user)}, files={"file": ("t.csv", text)}
    )
    key = sent.headers["location"].rpartition("/")[2]
    from cellbounds.runtime import files

    (folder,) = files._cache().rglob(f"{key}*")
    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert user.get(f"/table/{key}").status_code == 200
    user.post(f"/table/{key}/remove", data={"form_token": form_token(user)})
    assert not folder.exists()


def test_counts_are_in_no_log_and_no_file_is_left(tmp_path, monkeypatch):
    """While a server works, and after its end; what goes wrong included."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
    cb.Table(domain, [[73_157, 2], [9, 73_157]]).write(tmp_path / "table.csv")
    server = Server(tmp_path / "table.csv")
    with server.entered() as user:
        for address in ("?s=[a,b]", "/safe?s=[a,b]", "?s=[a,b]@1", "/answer/x"):
            user.get(f"/table/table.csv{address}")
        for style in ("zip", "html", "xlsx", "json"):
            assert user.get(f"/table/table.csv/file.{style}").status_code == 200
        text = b"a,b,count\nx,u,73157\nx,u,v,73157\n"
        data = {"form_token": form_token(user)}
        assert user.post("/drop", data=data, files={"file": ("t.csv", text)}).status_code == 400
        assert not [file for file in cache.rglob("*") if file.is_file() and file.suffix == ".csv"]
    server.process.terminate()
    server.process.wait(60)
    assert server.told.read() == ""
    server.end()
    assert not [
        file for file in cache.rglob("*") if file.is_file() and b"73157" in file.read_bytes()
    ]


def test_an_endless_upload_is_refused_at_once(alone, user):
    """10 GiB: by what it says of itself, and by what comes."""
    cookie = "; ".join(f"{one.name}={one.value}" for one in user.cookies.jar)
    head = (
        f"POST /drop HTTP/1.1\r\nHost: 127.0.0.1:{alone.port}\r\nCookie: {cookie}\r\n"
        f"X-Form-Token: {form_token(user)}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    )
    with socket.create_connection(("127.0.0.1", alone.port), timeout=60) as line:
        line.sendall(f"{head}Content-Length: {10 * 2**30}\r\n\r\n".encode())
        assert b" 413 " in line.recv(4096).split(b"\r\n")[0]
    with socket.create_connection(("127.0.0.1", alone.port), timeout=60) as line:
        part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        line.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        answer, block = b"", b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(200):
                line.sendall(block)
        except OSError:
            pass  # it stopped listening
        else:
            answer = line.recv(4096)
        assert not answer or b" 413 " in answer.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x00\x01\x02" * 50,
        b"no table at all",
        b"a,b\n1",
        b"PK\x03\x04broken",
        b"\xff\xfe\x00",
    ],
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(user, sent):
    done = user.post(
        "/drop", data={"form_token": form_token(user)}, files={"file": ("junk.csv", sent)}
    )
    assert done.status_code == 400
    assert "Traceback" not in done.text
    assert 'class="problem"' in done.text
    assert "junk.csv</a>" not in user.get("/").text


@pytest.mark.parametrize(
    "query",
    [
        "s=[nobody]",
        "s=[education|county]@99",
        "s=[education",
        "s=N",
        "s=[education,education]",
        "s=[county]&m=county:0",
        "s=[county]&m=county:9,9,9,9",
        "s=[county]&h=0:9",
        "s=[county]&h=7:0",
        "s=[county]&p=/etc/passwd",
        "s=[county]&p=nobody",
        "s=[county]&r=sideways",
        "&".join(["s=[county]"] * 50),
    ],
)
def test_an_address_that_makes_no_sense_is_refused_in_a_sentence(user, query):
    answer = user.get(f"/table/delinquent.csv?{query}")
    assert answer.status_code == 400
    assert 'class="problem"' in answer.text


RIGHTS = {
    "ada": {"/people": 200, "/history": 200, "/table/table": 403, "/requests": 200},
    "ben": {"/people": 403, "/history": 200, "/table/table": 403, "/requests": 200},
    "dan": {"/people": 403, "/history": 200, "/table/table": 200, "/requests": 200},
}


@pytest.mark.parametrize("name", RIGHTS)
def test_another_role_sees_what_it_may(team, name):
    with team.person(name) as client:
        for address, status in RIGHTS[name].items():
            assert client.get(address).status_code == status, address


def test_who_administers_sees_no_counts(team):
    ben, ada = (Client.login(team.base, name, PASSWORD) for name in ("ben", "ada"))
    number = ben.submit(["[region,ill]"], why="for ada to see")["number"]
    with team.person("ada") as client, team.person("dan") as dan:
        waited(lambda: "UNSAFE" in dan.get(f"/requests/{number}").text)
        for address in (f"/requests/{number}", "/requests", "/history", "/history?public="):
            text = re.sub(r"(?s)<(style|script)>.+?</\1>", "", client.get(address).text)
            assert "for ada to see" in text or address.startswith("/history")
            assert not re.search("unsafe|harm|small-counts at", text, re.IGNORECASE)
        query = "s=[region,ill]"
        for part in ("", "/together", "/safe", "/choose", "/undo", "/file.zip", "/file.xlsx"):
            assert client.get(f"/table/table{part}?{query}").status_code == 403, part
        assert client.get("/published/table").status_code == 403
        assert "no table here yet" not in client.get("/").text
    seen = ada.request(number)
    assert (seen["outcome"], seen["reason"], seen["harmful"]) == (None, None, [])
    assert not ada.tables()
    with pytest.raises(ServerError) as refused:
        ada.judge("table", ["[region]"])
    assert refused.value.status == 403
    with team.person("ben") as client:
        data = {"form_token": form_token(client)}
        assert client.post(f"/requests/{number}/withdraw", data=data).status_code == 303


def test_requests_that_are_not_there_are_like_those_of_others(team):
    ben, cleo = (Client.login(team.base, name, PASSWORD) for name in ("ben", "cleo"))
    number = cleo.submit(["[region]~10"], why="mine alone")["number"]
    said = []
    for other in (number, 1, 10**20):
        with pytest.raises(ServerError) as refused:
            ben.request(other)
        said.append((refused.value.status, str(refused.value)))
    assert said == [said[0]] * 3
    assert said[0][0] == 404
    with team.person("cleo") as client:
        data = {"form_token": form_token(client)}
        assert client.post(f"/requests/{number}/withdraw", data=data).status_code == 303


DOWNLOADS = {
    "zip": "application/zip",
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
}


def test_what_is_confidential_is_neither_kept_nor_framed_nor_guessed_at(alone, user):
    """By browsers and proxies: pages, what is taken away, what is refused, and JSON."""
    answers = {
        style: user.get(f"/table/delinquent.csv/file.{style}?s=[county]") for style in DOWNLOADS
    }
    for style, answer in answers.items():
        assert answer.headers["content-type"] == DOWNLOADS[style]
        assert answer.headers["content-disposition"].startswith("attachment; ")
    text = b"region,f,m,Total\nNorth,x,4,6\nSouth,7,8,15\nTotal,9,12,21\n"
    data = {"form_token": form_token(user)}
    sent = user.post("/drop", data=data, files={"file": ("protected.csv", text)})
    page = waited(lambda: _report(user.get(sent.headers["location"])))
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    # Whoever reads it finds back.
    assert '<a href="/"' in page.text
    user.post(f"/table/{page.url.path.rpartition('/')[2]}/remove", data=data)
    with alone.client() as stranger:
        more = [user.get(one) for one in ("/", "/table/delinquent.csv", "/table/no", "/api/1/no")]
        more += [stranger.get("/"), stranger.get("/api/1/tables"), stranger.post("/drop")]
    for answer in (*answers.values(), page, *more):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def _report(answer):
    return answer if "gives away" in answer.text else None


def test_who_only_asks_cannot_decide_nor_see_what_others_asked(team):
    with team.person("cleo") as cleo, team.person("ben") as ben:
        data = {"form_token": form_token(cleo), "s": "[region]~10", "why": "a secret reason"}
        number = cleo.post("/requests", data=data).headers["location"].rpartition("/")[2]
        assert ben.get(f"/requests/{number}").status_code == 404
        assert "a secret reason" not in ben.get("/requests").text
        token = {"form_token": form_token(ben), "decision": "approve", "why": "please"}
        assert ben.post(f"/requests/{number}/decide", data=token).status_code == 403
        own = {"form_token": form_token(cleo), "decision": "approve", "why": "mine"}
        assert cleo.post(f"/requests/{number}/decide", data=own).status_code == 400
        assert "waiting" in cleo.get(f"/api/1/requests/{number}").text
        token = {"form_token": form_token(cleo)}
        assert cleo.post(f"/requests/{number}/withdraw", data=token).status_code == 303


def test_a_wrong_password_opens_nothing(team):
    with team.client() as stranger:
        for name in ("dan", "nobody", "<b>"):
            done = stranger.post("/login", data={"name": name, "password": "wrong wrong wrong"})
            assert done.status_code == 401
        assert stranger.get("/").headers["location"] == "/login"


def test_a_header_counts_only_from_the_proxy(team):
    with team.client() as stranger:
        answer = stranger.get("/", headers={"X-Remote-User": "dan"})
        assert answer.headers.get("location") == "/login"


def test_a_session_ends(team):
    with team.person("dan") as client:
        before = dict(client.cookies)
        client.post("/leave", data={"form_token": form_token(client)})
        with team.client(cookies=before) as again:
            assert again.get("/").status_code == 303


def test_passwords_are_not_in_any_answer(team):
    with team.person("ada") as client:
        text = client.get("/people").text
        assert "argon2" not in text
        assert PASSWORD not in text
