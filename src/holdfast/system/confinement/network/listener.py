"""The command's side of the proxy: it opens the port inside, hands it out, and becomes the shell.

The proxy runs outside. What a command's programs connect to must be on the loopback inside, and only a process inside
can open that. So this program listens on 127.0.0.1, sends the listening socket through the channel that it
inherited, closes the channel and executes the shell. From then on the proxy outside accepts the connections itself.

Why not a Unix socket inside, with a program that forwards to it? The wall's filter refuses Unix sockets, one exception
would let a command reach every other socket it sees, and a forwarder would have to live as long as the command.
"""

from __future__ import annotations

from holdfast.system.confinement.descriptor_numbers import CHANNEL_FD

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

_PROGRAM = f"""
import array, os, socket, sys
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
with socket.socket(fileno={CHANNEL_FD}) as channel:
    fds = array.array("i", [listener.fileno()])
    channel.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
place = "http://127.0.0.1:%d" % listener.getsockname()[1]
listener.close()
for name in {PROXY_VARIABLES!r}:
    os.environ[name] = place
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1,::1"
os.execvp(sys.argv[1], sys.argv[1:])
"""


def listener_words(python: str) -> tuple[str, ...]:
    """Return the words that go before the shell; `python` must be visible to the command."""
    return (python, "-I", "-S", "-c", _PROGRAM)
