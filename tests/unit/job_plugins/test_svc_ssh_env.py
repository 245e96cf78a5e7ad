"""The plugins svc, ssh and env: the whole documents that they give, and pods as they become."""

from base64 import b64decode

from maar.core.job_plugins.plugin import SshKey
from support.plugin_jobs import KEY, PLUGINS, job, objects, pod, variables

SELECTOR = {"volcano.sh/job-name": "j", "volcano.sh/job-namespace": "n"}
BOTH = {"spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i", "env": None}]}}


def test_env_numbers_the_pods_of_a_task() -> None:
    document = pod(job({"t": 3}, BOTH, env=[]), "t", 2)
    for kind in ("containers", "initContainers"):
        assert variables(document, kind) == {"VK_TASK_INDEX": "2", "VC_TASK_INDEX": "2"}


def test_svc_makes_a_service_a_policy_and_lists_of_hosts() -> None:
    data = {
        "a_b.host": "j-a-b-0.j\nj-a-b-1.j",
        "VC_A_B_HOSTS": "j-a-b-0.j,j-a-b-1.j",
        "VC_A_B_NUM": "2",
        "c.host": "",
        "VC_C_HOSTS": "",
        "VC_C_NUM": "0",
    }
    found = objects(job({"a-b": 2, "c": 0}, svc=[]))
    assert found == {
        ("Service", "j"): (
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "j"},
                "spec": {"clusterIP": "None", "selector": SELECTOR, "publishNotReadyAddresses": False},
            },
            None,
        ),
        ("NetworkPolicy", "j"): (
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {"name": "j"},
                "spec": {
                    "podSelector": {"matchLabels": SELECTOR},
                    "ingress": [{"from": [{"podSelector": {"matchLabels": SELECTOR}}]}],
                    "policyTypes": ["Ingress"],
                },
            },
            None,
        ),
        ("ConfigMap", "j-svc"): (
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j-svc"}, "data": data},
            {"data": data},
        ),
    }


def test_flags_of_svc() -> None:
    found = objects(job({"t": 1}, svc=["-publish-not-ready-addresses", "--disable-network-policy=true"]))
    assert sorted(kind for kind, _ in found) == ["ConfigMap", "Service"]
    assert found["Service", "j"][0]["spec"]["publishNotReadyAddresses"] is True
    assert variables(pod(job({"t": 1}, svc=["--inject-hosts-env=false"]), "t")) == {}


def test_svc_names_a_pod_and_mounts_the_hosts_into_all_containers() -> None:
    document = pod(job({"a-b": 1, "c": 1}, BOTH, svc=[]), "c")
    names = ("VC_A_B_HOSTS", "VC_A_B_NUM", "VC_C_HOSTS", "VC_C_NUM")
    assert document["spec"]["hostname"] == "j-c-0"
    assert document["spec"]["subdomain"] == "j"
    assert document["spec"]["volumes"] == [{"name": "j-svc", "configMap": {"name": "j-svc"}}]
    for kind in ("containers", "initContainers"):
        assert variables(document, kind) == {name: name for name in names}
        assert document["spec"][kind][0]["volumeMounts"] == [{"name": "j-svc", "mountPath": "/etc/volcano"}]


def test_a_template_with_a_hostname_has_one_host() -> None:
    named = {"spec": {"hostname": "h", "subdomain": "s", "containers": []}}
    one = job({"t": 3}, named, svc=[])
    data = objects(one)["ConfigMap", "j-svc"][0]["data"]
    assert data == {"t.host": "h.s", "VC_T_HOSTS": "h.s", "VC_T_NUM": "1"}
    spec = pod(one, "t", 2)["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("h", "s")


def test_what_the_user_has_stands() -> None:
    own = {
        "spec": {
            "volumes": [{"name": "j-svc", "emptyDir": {}}],
            "containers": [
                {
                    "name": "c",
                    "env": [{"name": "VC_TASK_INDEX", "value": "mine"}, {"name": "VC_T_NUM", "value": "7"}],
                    "volumeMounts": [{"name": "own", "mountPath": "/etc/volcano"}],
                }
            ],
        }
    }
    document = pod(job({"t": 1}, own, svc=[], env=[]), "t")
    assert variables(document) == {
        "VC_TASK_INDEX": "mine",
        "VC_T_NUM": "7",
        "VC_T_HOSTS": "VC_T_HOSTS",
        "VK_TASK_INDEX": "0",
    }
    assert document["spec"]["volumes"] == [{"name": "j-svc", "emptyDir": {}}]
    assert document["spec"]["containers"][0]["volumeMounts"] == [{"name": "own", "mountPath": "/etc/volcano"}]


def test_ssh_has_one_pair_of_keys_and_knows_all_hosts() -> None:
    ((secret, update),) = objects(job({"m": 1, "w": 1}, ssh=["--ssh-port=2222"])).values()
    config = (
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "Host j-m-0 j-m-0.j\n  HostName j-m-0.j\n  Port 2222\n"
        "Host j-w-0 j-w-0.j\n  HostName j-w-0.j\n  Port 2222\n"
    )
    plain = {name: b64decode(value).decode() for name, value in secret["data"].items()}
    assert (secret["kind"], secret["metadata"], secret["type"]) == ("Secret", {"name": "j-ssh"}, "Opaque")
    assert plain == {
        "id_rsa": KEY.private,
        "id_rsa.pub": KEY.public,
        "authorized_keys": KEY.public,
        "config": config,
    }
    assert update == {"data": {"config": secret["data"]["config"]}}, "keys that running pods have stay"


def test_ssh_takes_a_given_pair_of_keys_and_makes_none() -> None:
    def unwanted() -> SshKey:
        raise AssertionError("a key was made")

    given = job({"t": 1}, ssh=["--ssh-private-key", "mine", "--ssh-public-key=ours"])
    (secret,) = PLUGINS.objects(given, unwanted)
    data = secret.document["data"]
    assert isinstance(data, dict)
    assert [b64decode(data[one]) for one in ("id_rsa", "authorized_keys")] == [b"mine", b"ours"]


def test_ssh_mounts_the_keys_where_they_are_looked_for() -> None:
    spec = pod(job({"t": 1}, BOTH, ssh=[]), "t")["spec"]
    files = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
    assert spec["volumes"] == [
        {
            "name": "j-ssh",
            "secret": {
                "secretName": "j-ssh",
                "items": [{"key": one, "path": f".ssh/{one}"} for one in files],
                "defaultMode": 0o600,
            },
        }
    ]
    mount = {"name": "j-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}
    assert [spec[kind][0]["volumeMounts"] for kind in ("containers", "initContainers")] == [[mount], [mount]]

    spec = pod(job({"t": 1}, ssh=["-ssh-key-file-path=/keys/.ssh"]), "t")["spec"]
    assert spec["volumes"][0]["secret"]["defaultMode"] == 0o644
    assert spec["containers"][0]["volumeMounts"][0]["mountPath"] == "/keys/.ssh"
