"""The embedded API server and its controllers, and nobody who schedules: embedded_server.py FOLDER PORT."""

import asyncio
import signal
import sys
from pathlib import Path

import uvloop

from maar.embedded.access import ADMINISTRATOR, certificate, token, write_kubeconfig
from maar.embedded.assembly import assemble
from maar.embedded.controllers.runner import run_controllers
from maar.embedded.nodes.pod_logs import PodLogs
from maar.embedded.server import Server, serve
from maar.embedded.store import Store
from maar.serving.listening import listen


async def main(folder: Path, port: int) -> None:
    """Serve until the process is told to end."""
    cluster = assemble(Store(folder))
    place, tls = listen("127.0.0.1", port), certificate(folder, ("127.0.0.1",))
    key = token(folder, "admin")
    server = Server(cluster, {key: ADMINISTRATOR}, PodLogs(cluster, folder).read)
    url = f"https://127.0.0.1:{place.getsockname()[1]}"
    write_kubeconfig(folder / "kubeconfig", url, tls.certificate.read_bytes(), key)
    stop = asyncio.Event()
    keeping = asyncio.create_task(run_controllers(cluster))
    serving = asyncio.create_task(serve(server, cluster.history, place, tls, stop))
    await asyncio.sleep(0)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server.is_ready.set()
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    await serving
    keeping.cancel()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
