"""What `sansmcp trace` adds to a round trip, against a pass-through that does nothing else.

Three pipelines answer the same calls in turn, many rounds of each: the echo server alone, behind a
bare pass-through (two threads that read and write), and behind `sansmcp trace`, which also records
and judges. Printed are the median round trips and what trace adds to the bare pass-through.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

#: Answers a call with its id, as fast as Python can, and a handshake before that.
ECHO = """
import json, os
rest = b""
while data := os.read(0, 65536):
    *lines, rest = (rest + data).split(b"\\n")
    for line in lines:
        message = json.loads(line)
        if message.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "echo", "version": "1"}}
        else:
            result = {"content": [{"type": "text", "text": "hi"}]}
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            os.write(1, json.dumps(answer).encode() + b"\\n")
"""
BARE = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def carry(source, sink):
    while data := os.read(source, 65536):
        os.write(sink, data)
    os.close(sink)
up = threading.Thread(target=carry, args=(0, child.stdin.fileno()), daemon=True)
down = threading.Thread(target=carry, args=(child.stdout.fileno(), 1), daemon=True)
up.start(); down.start()
child.wait()
"""
HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": "init",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


class Pipeline:
    """A process that answers calls."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.next_id = 0
        self.ask(HANDSHAKE[0])
        self.stdin.write(json.dumps(HANDSHAKE[1]).encode() + b"\n")

    def ask(self, message: Mapping[str, object]) -> None:
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdout.readline()

    def call(self) -> None:
        self.next_id += 1
        params = {"name": "echo", "arguments": {"text": "hi"}}
        self.ask({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call", "params": params})

    def close(self) -> None:
        self.stdin.close()
        self.process.wait(60)
        self.stdout.close()


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trace", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="rounds of 20 calls each")
    rounds = parser.parse_args(arguments).rounds
    echo = [sys.executable, "-c", ECHO]
    with tempfile.TemporaryDirectory() as folder:
        transcript = str(Path(folder, "transcript.ndjson"))
        trace = [sys.executable, "-m", "sansmcp.cli", "trace", "-q", "-o", transcript, "--"]
        pipelines = {
            "the server alone": Pipeline(echo),
            "a bare pass-through": Pipeline([sys.executable, "-c", BARE, *echo]),
            "sansmcp trace": Pipeline([*trace, *echo]),
        }
        seconds: dict[str, list[float]] = {name: [] for name in pipelines}
        for _ in range(rounds):
            for name, pipeline in pipelines.items():
                start = time.perf_counter()
                for _ in range(20):
                    pipeline.call()
                seconds[name].append((time.perf_counter() - start) / 20)
        for pipeline in pipelines.values():
            pipeline.close()
        recorded = len(Path(transcript).read_bytes().splitlines())
    print("| one call over stdio | median |\n|---|---|")
    for name, taken in seconds.items():
        print(f"| {name} | {statistics.median(taken) * 1e6:.0f} us |")
    pairs = zip(seconds["sansmcp trace"], seconds["a bare pass-through"], strict=True)
    ratios = sorted(traced / bare for traced, bare in pairs)
    low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    print(
        f"\ntrace / bare: {statistics.median(ratios):.2f} (half of the rounds: {low:.2f}-{high:.2f})"
    )
    print(f"{recorded:,} messages recorded, of {2 * 20 * rounds + 3:,}")


if __name__ == "__main__":
    main()
