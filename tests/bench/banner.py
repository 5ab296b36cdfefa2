# SPDX-License-Identifier: GPL-3.0-or-later
"""When does a guest's SSH server really answer? Connects every 50 ms without waiting for the earlier attempts,
from the moment this starts, and prints the milliseconds until the first banner byte.

usage: banner.py PORT [LIMIT_S]
"""
import select
import socket
import sys
import time


def attempt(port):
    connection = socket.socket()
    connection.setblocking(False)
    try:
        connection.connect(("127.0.0.1", port))
    except BlockingIOError:
        pass
    except OSError:
        connection.close()
        return None
    return connection


def answered(connection):
    try:
        return len(connection.recv(1)) > 0
    except BlockingIOError:
        return False
    except OSError:
        return False


def main(port, limit):
    since, pending, due = time.monotonic(), [], 0.0
    while time.monotonic() - since < limit:
        if time.monotonic() >= due:
            connection = attempt(port)
            pending += [connection] if connection else []
            due = time.monotonic() + 0.05
        ready, _, _ = select.select(pending, [], [], 0.002)
        if any([answered(connection) for connection in ready]):
            print(int((time.monotonic() - since) * 1000))
            return 0
        for connection in ready:
            pending.remove(connection)
            connection.close()
        # Those that were lost on the way only cost descriptors.
        while len(pending) > 20:
            pending.pop(0).close()
    return 1


sys.exit(main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60.0))
