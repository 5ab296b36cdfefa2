# SPDX-License-Identifier: GPL-3.0-or-later
"""When does a guest's SSH server really answer? Runs the command that creates the guest, then connects every 120 ms
without waiting for the earlier attempts, and prints the milliseconds from the command's end to the first banner byte.
(Each attempt costs a guest that is being emulated: with one every 50 ms it answers some 0.2 s later.)

usage: banner.py PORT COMMAND…
"""
import select
import socket
import subprocess
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


def main(port, command, limit=60.0):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    since, pending, due = time.monotonic(), [], 0.0
    while time.monotonic() - since < limit:
        if time.monotonic() >= due:
            connection = attempt(port)
            pending += [connection] if connection else []
            due = time.monotonic() + 0.12
        ready, _, _ = select.select(pending, [], [], 0.002)
        if any([answered(connection) for connection in ready]):
            print(int((time.monotonic() - since) * 1000))
            return 0
        for connection in ready:
            pending.remove(connection)
            connection.close()
        # Those that were lost on the way would only cost the guest.
        while len(pending) > 2:
            pending.pop(0).close()
    return 1


sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
