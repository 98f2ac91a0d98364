"""A proxy before a server of HTTP that lets requests and answers go wrong as a test wants: late, short, wrong or refused.

`FaultProxy(ADDRESS, FAULT)` is a context; its `address` is what clients are told. `FAULT(number, request)` is asked for each
request, counted from 0, and gives a fault of those below, or None where nothing goes wrong. Requests are passed on with the
name that the client gave the server, so that signatures hold.
"""

import asyncio
import threading
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Request:
    method: str
    target: str
    head: bytes
    body: bytes

    @property
    def path(self):
        return self.target.partition("?")[0]


@dataclass
class Answer:
    """Another answer than the server's, which is not asked."""

    status: int
    body: bytes = b""
    headers: dict = field(default_factory=dict)


@dataclass
class Fault:
    """The server's answer, changed on its way."""

    cut: int | None = None
    """The connection ends after so many bytes of the body."""
    short: int = 0
    """The answer claims that it is so many bytes longer than it is."""
    pace: tuple | None = None
    """The body comes in pieces of so many bytes, each after so many seconds."""
    shift: int = 0
    """A part of an object claims that it begins so many bytes later."""
    lost: bool = False
    """The connection ends before the answer."""


class Hang:
    """Nothing is answered, ever."""


class Late:
    """Requests reach the server late, whatever has become of their sender: when the answer to another one, `Before(LATE)`, is asked for."""

    def __init__(self):
        self.opened, self.held = asyncio.Event(), 0


@dataclass
class Before:
    """The server is asked after those that are late."""

    late: Late


class FaultProxy:
    def __init__(self, target, fault):
        parts = urlsplit(target)
        self.host, self.port, self.fault = parts.hostname, parts.port, fault
        self.requests, self.lock = [], threading.Lock()
        self.loop = asyncio.new_event_loop()
        self.tasks = set()
        self.asking = 0
        """The number of answers that the server has not yet given."""

    def __enter__(self):
        started = threading.Event()

        def run():
            asyncio.set_event_loop(self.loop)
            self.server = self.loop.run_until_complete(asyncio.start_server(self.connection, "127.0.0.1", 0, backlog=256))
            self.address = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
            started.set()
            self.loop.run_forever()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        assert started.wait(10), "the proxy does not start"
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self.stop(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def stop(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def connection(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            while (request := await read_request(reader)) is not None:
                number = len(self.requests)
                self.requests.append(request)
                if not await self.serve(request, self.fault(number, request), writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(asyncio.current_task())
            writer.close()

    async def serve(self, request, fault, writer):
        """Answer a request; false where the connection ends with it."""
        if isinstance(fault, Hang):
            await asyncio.sleep(600)
            return False
        if isinstance(fault, Answer):
            headers = "".join(f"{name}: {value}\r\n" for name, value in fault.headers.items())
            writer.write(f"HTTP/1.1 {fault.status} Fault\r\ncontent-length: {len(fault.body)}\r\n{headers}\r\n".encode())
            writer.write(b"" if request.method == "HEAD" else fault.body)
            await writer.drain()
            return True
        head, body, size = await self.ask_in_time(request, fault)
        fault = fault if isinstance(fault, Fault) else Fault()
        if fault.lost:
            return False
        head = [moved(line, fault.shift) if fault.shift else line for line in head if not line.lower().startswith(b"content-length:")]
        head.append(b"content-length: %d" % (len(body) + fault.short if fault.short else size))
        writer.write(b"\r\n".join(head) + b"\r\n\r\n")
        body = body[: fault.cut]
        piece, seconds = fault.pace or (len(body) + 1, 0)
        for start in range(0, len(body), piece):
            await writer.drain()
            await asyncio.sleep(seconds)
            writer.write(body[start : start + piece])
        await writer.drain()
        return fault.cut is None and not fault.short

    async def ask_in_time(self, request, fault):
        """The server's answer, which is asked for late, or after the late ones, where the fault is that."""
        if isinstance(fault, Before):
            fault.late.opened.set()
            while fault.late.held:
                await asyncio.sleep(0.002)
        if not isinstance(fault, Late):
            return await self.ask(request)
        fault.held += 1
        try:
            await fault.opened.wait()
            return await self.ask(request)
        finally:
            fault.held -= 1

    async def ask(self, request):
        """The lines of the head of the server's answer, its body, and the length that it tells."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        self.asking += 1
        try:
            lines = [line for line in request.head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"expect:"))]
            writer.write(b"\r\n".join([*lines, b"connection: close"]) + b"\r\n\r\n" + request.body)
            head = (await reader.readuntil(b"\r\n\r\n")).rstrip().split(b"\r\n")
            fields = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head[1:]}
            if request.method == "HEAD" or head[0].split()[1] in (b"204", b"304"):
                body = b""
            elif fields.get(b"transfer-encoding", b"").lower() == b"chunked":
                body = await read_chunked(reader)
                fields.pop(b"content-length", None)
            elif b"content-length" in fields:
                body = await reader.readexactly(int(fields[b"content-length"]))
            else:
                body = await reader.read()
        finally:
            self.asking -= 1
            writer.close()
        left_out = (b"connection:", b"transfer-encoding:", b"keep-alive:")
        # The answer to HEAD tells a length, and has no body.
        size = int(fields.get(b"content-length", len(body)))
        return [line for line in head if not line.lower().startswith(left_out)], body, size


async def read_request(reader):
    try:
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
    except asyncio.IncompleteReadError:
        return None
    fields = {line.partition(b":")[0].lower(): line.partition(b":")[2].strip() for line in head.split(b"\r\n")[1:]}
    body = await reader.readexactly(int(fields.get(b"content-length", 0)))
    method, target, _ = head.split(b"\r\n")[0].decode().split(" ", 2)
    return Request(method, target, head, body)


async def read_chunked(reader):
    pieces = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(pieces)


def moved(line, by):
    """A line of a head; where it tells of a part, it tells of another."""
    if not line.lower().startswith(b"content-range: bytes "):
        return line
    span, _, size = line.rpartition(b" ")[2].partition(b"/")
    first, last = (int(number) + by for number in span.split(b"-"))
    return b"content-range: bytes %d-%d/%s" % (first, last, size)
