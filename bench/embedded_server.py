"""The embedded API server alone, for the benchmark beside it: python bench/embedded_server.py FOLDER."""

import asyncio
import signal
import sys
from pathlib import Path

import uvloop

from maar.embedded.access import ADMINISTRATOR, certificate, token, write_kubeconfig
from maar.embedded.assembly import assemble
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import Server
from maar.embedded.serving import listen, serve
from maar.embedded.store import Store


async def main(folder: Path) -> None:
    """Serve until the process is told to end."""
    cluster = assemble(Store(folder))
    place, tls = listen("127.0.0.1", 0), certificate(folder, ("127.0.0.1",))
    key = token(folder, "admin")
    server = Server(cluster, {key: ADMINISTRATOR}, PodLogs(cluster, folder).read)
    url = f"https://127.0.0.1:{place.getsockname()[1]}"
    write_kubeconfig(folder / "kubeconfig", url, tls.certificate.read_bytes(), key)
    stop = asyncio.Event()
    serving = asyncio.create_task(serve(server, cluster.history, place, tls, stop))
    await asyncio.sleep(0)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server.is_ready.set()
    print("ready", flush=True)
    await serving


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1])))
