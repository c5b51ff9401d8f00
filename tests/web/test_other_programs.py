"""What other programs bring and ask: ACRO's sessions, and R."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from servers import PASSWORD, form_token, waited

from cellbounds.web.client import Client

DOCS = Path(__file__).parents[2] / "docs"

RESULTS = """{"version": "1.0.2", "tool": {"name": "ACRO"}, "results": {
 "output_0": {"type": "table", "properties": {"method": "crosstab", "mitigation": "none"},
  "files": [{"name": "output_0_0.csv"}], "fair": {"independent": ["sex", "region"]}},
 "output_1": {"type": "table", "properties": {"method": "crosstab", "mitigation": "none"},
  "files": [{"name": "output_1_0.csv"}], "fair": {"independent": ["ill", "sex"]}}}}"""

SESSION = {
    "results.json": RESULTS,
    "config.json": '{"safe_threshold": 10, "zeros_are_disclosive": true}',
    "output_0_0.csv": "sex,South,North\nm,12,20\nf,20,0\n",
    "output_1_0.csv": "ill,m,f\nyes,20,10\nno,12,10\n",
}
"""Two tables of one session, their levels in another order than the ledger's."""


def brought(client, session, folder="outputs"):
    files = [("file", (f"{folder}/{name}", text)) for name, text in session.items()]
    data = {"form_token": form_token(client), "why": "a thesis"}
    return client.post("/requests/import", data=data, files=files)


def test_the_folder_of_an_acro_session_becomes_requests(team):
    with team.person("ben") as ben:
        done = brought(ben, SESSION)
        assert done.status_code == 303, done.text
        program = Client.login(team.base, "cleo", PASSWORD)
        made = [one for one in program.requests() if one["batch"] == "outputs"]
        assert [one["statements"] for one in reversed(made)] == [["[sex,region]"], ["[ill,sex]"]]
        # Its figures are those of the ledger's table, whose levels stand in another order.
        judged = [waited(lambda n=one["number"]: program.request(n)["outcome"]) for one in made]
        assert judged == ["safe", "safe"]
        page = ben.get(f"/requests/{made[0]['number']}").text
        assert "outputs" in page
        for one in made:
            assert (
                ben.post(
                    f"/requests/{one['number']}/withdraw", data={"form_token": form_token(ben)}
                ).status_code
                == 303
            )


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ({**SESSION, "output_1_0.csv": "ill,m,x\nyes,20,10\nno,12,10\n"}, "are others than in"),
        ({"results.json": RESULTS}, "which is not beside it"),
        ({"results.json": RESULTS.replace("output_1_0.csv", "/etc/hostname")}, "not beside it"),
        ({"results.json": RESULTS.replace("output_0_0.csv", "../../etc/hostname")}, "not beside"),
        ({"results.json": RESULTS, "x/results.json": RESULTS}, "the same name"),
        ({"notes.txt": "nothing"}, ""),
    ],
)
def test_a_session_that_does_not_fit_leaves_nothing(team, session, said):
    with team.person("ben") as ben:
        before = len(Client.login(team.base, "ben", PASSWORD).requests())
        done = brought(ben, session, "others")
        assert done.status_code == 400
        assert said in done.text
        assert len(Client.login(team.base, "ben", PASSWORD).requests()) == before


def has_r():
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "library(curl); library(jsonlite)"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def test_r_asks_and_learns_what_became_of_it(team, tmp_path):
    if not has_r():
        pytest.skip("no R with curl and jsonlite is installed")
    block = re.search(r"```r\n(.+?)```", (DOCS / "api.md").read_text("utf-8"), re.DOTALL)[1]
    script = block.replace("https://sdc.office.example", team.base).replace('"cat"', '"ben"')
    script = script.replace("[income|gender,race]@1", "[region]~5")
    file = tmp_path / "ask.R"
    file.write_text(f'password <- "{PASSWORD}"\n{script}', "utf-8")
    done = subprocess.run(["Rscript", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"waiting"' in done.stdout
    file.write_text(f'password <- "wrong"\n{script}', "utf-8")
    done = subprocess.run(["Rscript", file], capture_output=True, text=True, check=False)
    assert "cellbounds: the name or the password is wrong" in done.stderr


def test_the_unit_of_the_documentation_starts_what_there_is():
    """Its command has the options of `serve`, and its lines are those of systemd."""
    from cellbounds.cli.serving import serve

    unit = re.search(r"```ini\n(.+?)```", (DOCS / "web.md").read_text("utf-8"), re.DOTALL)[1]
    lines = unit.replace("\\\n", " ").splitlines()
    assert [line for line in lines if line.startswith("[")] == ["[Unit]", "[Service]", "[Install]"]
    assert all(re.match(r"(#.*|\[\w+\]|[A-Z]\w+=.+|)$", line) for line in lines)
    command = next(line for line in lines if line.startswith("ExecStart=")).split()
    assert command[0].endswith("/cellbounds")
    assert command[1] == "serve"
    given = serve.make_context("serve", command[2:]).params
    assert given["what"].startswith("postgresql:///")
    assert given["secure"]
    assert given["quiet"]
