"""Credentials: found where people expect them, read again when they change, and errors that help."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maar.kube import credentials
from maar.kube.credentials import load
from maar.kube.sources import CredentialsError, Kubeconfig
from support.certificates import Signed
from support.kubeconfigs import changed, written

pytestmark = pytest.mark.anyio

IMPATIENT = """
import asyncio, pathlib, sys
from maar.kube import credentials, sources
credentials.PLUGIN_TIMEOUT_S = 0.4
try:
    asyncio.run(credentials.load(pathlib.Path(sys.argv[1])))
except sources.CredentialsError as error:
    print(error)
"""

SERVER = "http://127.0.0.1:1"


async def test_the_file_that_is_named_comes_before_all_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    users = Path.home() / ".kube"
    users.mkdir()
    written(users / "config", SERVER)
    assert (await load()).proofs.authorization == "Bearer token-of-config"
    account = service_account(tmp_path, "token-of-pod")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert (await load(service_account=account)).proofs.authorization == "Bearer token-of-pod"
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "environment", SERVER)))
    assert (await load(service_account=account)).proofs.authorization == "Bearer token-of-environment"
    named = written(tmp_path / "named", SERVER)
    assert (await load(named, service_account=account)).proofs.authorization == "Bearer token-of-named"


async def test_where_nothing_is_configured_it_says_what_to_do() -> None:
    with pytest.raises(CredentialsError, match="start a cluster with maar up, or name a kubeconfig"):
        await load()


async def test_a_context_is_chosen_by_name_and_brings_its_namespace(tmp_path: Path) -> None:
    def add_context(document: dict[str, list[object]]) -> None:
        context = {"cluster": "one", "user": "one", "namespace": "team"}
        document["contexts"].append({"name": "other", "context": context})

    file = changed(written(tmp_path / "one", SERVER), tmp_path / "two", add_context)
    assert (await load(file)).proofs.namespace == "default"
    assert (await load(file, "other")).proofs.namespace == "team"
    with pytest.raises(CredentialsError, match="nowhere"):
        await load(file, "nowhere")


async def test_of_several_files_the_first_that_names_a_context_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = [written(tmp_path / name, SERVER) for name in ("one", "two")]
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{files[0]}:{files[1]}")
    assert (await load()).proofs.authorization == "Bearer token-of-one"
    assert (await load(context="two")).proofs.authorization == "Bearer token-of-two"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "just text",
        "[1, 2]",
        "a: [",
        "\x00",
        "current-context: a",
        "{current-context: a, contexts: [{name: a}], clusters: [], users: []}",
        "{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [], users: []}",
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CredentialsError, match=f"kubeconfig {file}: "):
        await load(file)


@pytest.mark.parametrize("content", ["", "hello", "- 1", "root:x:0:0"])
async def test_what_is_no_kubeconfig_is_called_so(tmp_path: Path, content: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CredentialsError, match="this is no kubeconfig; name another with --kubeconfig"):
        await load(file)


@pytest.mark.parametrize(
    ("section", "value", "problem"),
    [
        ("current-context", 5, "current-context: expected `str`, got `int`"),
        ("current-context", [{}], "current-context: expected `str`, got `array`"),
        ("contexts", 5, "contexts: expected `array`, got `int`"),
        ("contexts", {"a": "b"}, "contexts: expected `array`, got `object`"),
        ("contexts", [5], "contexts[0]: expected `object`, got `int`"),
        ("contexts", [None], "contexts[0]: expected `object`, got `null`"),
        ("contexts", [{}], "contexts[0]: object missing required field `name`"),
        ("contexts", [{"name": [1]}], "contexts[0].name: expected `str`, got `array`"),
        ("contexts", [{"name": "one", "context": 5}], "contexts[0].context: expected `object`, got `int`"),
        ("clusters", "text", "clusters: expected `array`, got `str`"),
        ("clusters", [5], "clusters[0]: expected `object`, got `int`"),
        (
            "clusters",
            [{"name": "one", "cluster": {"server": 5}}],
            "clusters[0].cluster.server: expected `str`",
        ),
        ("users", True, "users: expected `array`, got `bool`"),
        ("users", [[1]], "users[0]: expected `object`, got `array`"),
        ("users", [{"name": "one", "user": {"tokenFile": 5}}], "users[0].user.tokenFile: expected `str`"),
        ("users", [{"name": "one", "user": {"exec": 5}}], "users[0].user.exec: expected `object | null`"),
        (
            "users",
            [{"name": "one", "user": {"exec": {"command": "a", "apiVersion": "b", "env": [{"value": "c"}]}}}],
            "users[0].user.exec.env[0]: object missing required field `name`",
        ),
    ],
)
async def test_a_value_of_a_wrong_type_is_named_with_its_place(
    tmp_path: Path, section: str, value: object, problem: str
) -> None:
    def change(document: dict[str, object]) -> None:
        document[section] = value

    file = changed(written(tmp_path / "one", SERVER), tmp_path / "wrong", change)
    with pytest.raises(CredentialsError) as caught:
        await load(file)
    assert str(caught.value).startswith(f"kubeconfig {file}: {problem}")
    assert str(caught.value).endswith("; correct it, or name another with --kubeconfig or KUBECONFIG")
    files = Kubeconfig(f"{written(tmp_path / 'right', SERVER)}:{file}")
    with pytest.raises(CredentialsError, match=f"{files.name}: {file}: "):  # which of them is it?
        await files.read(anew=False)


@pytest.mark.parametrize(
    ("section", "value", "sentence"),
    [
        ("contexts", [{"name": "one"}], "context one names no cluster; write one into it"),
        ("clusters", None, "context one names cluster one, which is not there; add it"),
        ("clusters", [{"name": "one"}], "cluster one has no server; write its address into it"),
    ],
)
async def test_what_a_context_needs_and_is_not_there_is_named(
    tmp_path: Path, section: str, value: object, sentence: str
) -> None:
    def change(document: dict[str, object]) -> None:
        document[section] = value

    file = changed(written(tmp_path / "one", SERVER), tmp_path / "wrong", change)
    with pytest.raises(CredentialsError, match=f"kubeconfig {file}: {sentence}"):
        await load(file)


async def test_an_error_about_a_user_does_not_quote_its_secrets(tmp_path: Path) -> None:
    provider = {"name": "oidc", "config": {"refresh-token": "secret"}}
    file = written(tmp_path / "one", SERVER, {"auth-provider": provider})
    with pytest.raises(CredentialsError, match="client-id") as caught:
        await load(file)
    assert "secret" not in str(caught.value)


async def test_a_context_without_a_user_that_is_there_is_anonymous(tmp_path: Path) -> None:
    def forget_user(document: dict[str, Any]) -> None:
        del document["contexts"][0]["context"]["user"]

    def forget_users(document: dict[str, Any]) -> None:
        document["users"] = []

    for change in (forget_user, forget_users):
        file = changed(written(tmp_path / "one", "https://127.0.0.1:1"), tmp_path / "two", change)
        assert (await load(file)).proofs.authorization == ""


async def test_an_empty_file_among_several_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    found = Kubeconfig(f"{tmp_path / 'empty'}:{written(tmp_path / 'one', SERVER)}")
    assert (await found.read(anew=False)).authorization == "Bearer token-of-one"


async def test_certificates_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    Signed.authority().write(folder)[0].rename(folder / "ca.crt")
    file = written(folder / "one", "https://127.0.0.1:1", cluster={"certificate-authority": "ca.crt"})
    found = Kubeconfig(f"{written(tmp_path / 'two', SERVER)}:{file}", "one")
    assert (await found.read(anew=False)).certificate_authority == str(folder / "ca.crt")


async def test_a_context_that_is_not_there_is_told_which_are(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("{contexts: [{name: a}, {name: b}]}", encoding="utf-8")
    with pytest.raises(CredentialsError, match="there is no context c; choose one of a, b with --context"):
        await load(file, "c")


async def test_a_folder_is_no_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="this is a folder; name another with --kubeconfig"):
        await load(tmp_path)


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        CredentialsError, match=f"{tmp_path / 'missing'}: there is no such file; .*--kubeconfig"
    ):
        await load(tmp_path / "missing")


@pytest.mark.parametrize(
    "cluster",
    [
        {"certificate-authority": "missing.crt"},
        {"certificate-authority-data": "bm8gY2VydGlmaWNhdGU="},
        {"certificate-authority-data": "!"},
    ],
)
async def test_a_certificate_that_cannot_be_read_is_an_error(tmp_path: Path, cluster: dict[str, str]) -> None:
    file = written(tmp_path / "one", "https://127.0.0.1:1", cluster=cluster)
    with pytest.raises(CredentialsError, match=f"kubeconfig {file}"):
        await load(file)


async def test_a_token_in_a_file_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    found = await load(written(tmp_path / "one", SERVER, {"tokenFile": str(token)}))
    token.write_text("new\n")
    assert not found.is_stale
    await found.refresh()
    assert found.proofs.authorization == "Bearer old", "a minute is not over"
    monkeypatch.setattr(credentials, "FRESH_FOR_S", 0.0)
    assert found.is_stale
    await found.refresh()
    assert found.proofs.authorization == "Bearer new"
    token.unlink()
    await found.refresh()
    assert found.proofs.authorization == "Bearer new", "better than nothing, until it is rejected"
    with pytest.raises(CredentialsError):
        await found.refresh(rejected="Bearer new")


async def test_a_rotated_service_account_is_read_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    account = service_account(tmp_path, "old")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    found = await load(service_account=account)
    assert (found.proofs.server, found.proofs.namespace) == (
        "https://[fd00::1]:443",
        "maar-system",
    )
    (account / "token").write_text("new")
    await found.refresh(rejected="Bearer old")
    assert found.proofs.authorization == "Bearer new"


async def test_a_plugin_runs_when_its_answer_ends_or_is_rejected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(credentials, "FRESH_FOR_S", 0.0)
    for expiry, ends in (("2099-01-01T00:00:00Z", False), ("2001-01-01T00:00:00Z", True), (None, False)):
        found = await load(with_plugin(tmp_path, counting(tmp_path, expiry)))
        assert found.proofs.authorization == "Bearer 1"
        await found.refresh()
        assert found.proofs.authorization == ("Bearer 2" if ends else "Bearer 1"), expiry
        await found.refresh(rejected=found.proofs.authorization)
        assert found.proofs.authorization == ("Bearer 3" if ends else "Bearer 2"), expiry


async def test_many_who_are_rejected_renew_once(tmp_path: Path) -> None:
    found = await load(with_plugin(tmp_path, counting(tmp_path, None)))
    await asyncio.gather(*[found.refresh(rejected="Bearer 1") for _ in range(5)])
    assert found.proofs.authorization == "Bearer 2"


@pytest.mark.parametrize(
    "script",
    ["import sys; sys.exit('log in first')", "print('no json')", "print('{}')"],
    ids=["fails", "talks", "says nothing"],
)
async def test_a_plugin_that_fails_is_an_error(tmp_path: Path, script: str) -> None:
    with pytest.raises(CredentialsError, match="exec: "):
        await load(with_plugin(tmp_path, script))


async def test_a_plugin_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(tmp_path / "missing")}
    with pytest.raises(CredentialsError, match="missing"):
        await load(written(tmp_path / "one", SERVER, {"exec": plugin}))


def test_a_plugin_that_waits_for_ever_is_not_waited_for(tmp_path: Path) -> None:
    # In a process of its own: the library lets go of the plugin's, and Python says so whenever it likes.
    file = with_plugin(tmp_path, "import time; time.sleep(5)")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPATIENT, file],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "gave no answer in 0 s; run it by hand" in ended.stdout


async def test_a_proxy_is_the_clusters_or_the_environments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    remote = "https://cluster.example.com"
    assert (await load(written(tmp_path / "one", remote))).proxy is None
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    assert (await load(written(tmp_path / "one", remote))).proxy == "http://127.0.0.1:3128"
    own = written(tmp_path / "two", remote, cluster={"proxy-url": "http://127.0.0.1:8080"})
    assert (await load(own)).proxy == "http://127.0.0.1:8080"
    monkeypatch.setenv("no_proxy", "example.com")
    assert (await load(written(tmp_path / "one", remote))).proxy is None


def service_account(folder: Path, token: str) -> Path:
    """What Kubernetes puts into a pod."""
    account = folder / "serviceaccount"
    account.mkdir()
    (account / "token").write_text(token)
    (account / "namespace").write_text("maar-system")
    Signed.authority().write(account)[0].rename(account / "ca.crt")
    return account


def counting(folder: Path, expiry: str | None) -> str:
    """A plugin whose tokens are 1, 2, 3."""
    counter = folder / "counter"
    counter.write_text("0")
    status = {"token": "TOKEN"} | ({"expirationTimestamp": expiry} if expiry else {})
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return (
        f"from pathlib import Path; counter = Path({str(counter)!r}); "
        f"number = str(int(counter.read_text()) + 1); counter.write_text(number); "
        f"print({json.dumps(answer)!r}.replace('TOKEN', number))"
    )


def with_plugin(folder: Path, script: str) -> Path:
    """A kubeconfig whose user asks a program."""
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", script],
        "env": [{"name": "PURPOSE", "value": "test"}],
        "interactiveMode": "Never",
    }
    return written(folder / "one", SERVER, {"exec": plugin})
