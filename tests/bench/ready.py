# SPDX-License-Identifier: GPL-3.0-or-later
"""When is the guest's SSH server there? It is the last thing that the micro guest starts, and then it writes so to its
console: looking there costs the guest nothing, where each connection that is tried costs an emulated one some
milliseconds, and it tells of the very boot that is timed, however fast the machine was just then.

usage: ready.py FOLDER          prints the time (ns since 1970) when some console.log below FOLDER says it
       ready.py FOLDER PORT     and then the microseconds from there to the first byte of the banner
"""
import os
import socket
import sys
import time

LIMIT_S = 120


def is_ready(folder):
    for place, _, names in os.walk(folder):
        if "console.log" in names:
            try:
                with open(os.path.join(place, "console.log"), "rb") as console:
                    if b"micro: ready" in console.read():
                        return True
            except OSError:
                pass  # it went away meanwhile
    return False


def main(folder, port=None):
    end = time.monotonic() + LIMIT_S
    while not is_ready(folder):
        if time.monotonic() > end:
            sys.exit(f"ready.py: no console below {folder} said that the guest is ready")
        time.sleep(0.005)
    print(time.time_ns(), flush=True)
    if port is not None:
        since = time.monotonic()
        with socket.create_connection(("127.0.0.1", int(port)), LIMIT_S) as connection:
            connection.settimeout(LIMIT_S)
            connection.recv(1)
        print(int((time.monotonic() - since) * 1e6))


main(*sys.argv[1:])
