"""Runs of the command, thousands of them: see tests/command/command_server.c.

    share_out(items, use)       # use(server, item): server.run("fst", "info", …), then server.results()
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

# Files that nobody waits for to be on a disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

Outcome = collections.namedtuple("Outcome", "how code allocations most text")  # how: exit, signal, memory; text: of standard error


def program():
    path = pathlib.Path(os.environ["TRELLIS_BUILD_DIR"], "tests/command_server")
    if not path.exists():
        print("skipped: this build has no tests/command_server")
        sys.exit(77)
    return path


class Server:
    def __init__(self, folder):
        self.place = pathlib.Path(folder)
        self.process = subprocess.Popen([program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *command, files=(), repair="-", fail=0, mode="one", seconds=60, megabytes=2000):
        """In a folder that has nothing but `files` (bytes by name) at first: self.place."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        for name, content in dict(files).items():
            (self.place / name).parent.mkdir(parents=True, exist_ok=True)
            (self.place / name).write_bytes(content)
        fields = [fail, mode, seconds, megabytes, self.place, repair, *command]
        self.process.stdin.write("\t".join(map(str, fields)) + "\n")
        self.process.stdin.flush()
        how, *numbers = self.process.stdout.readline().split()
        text = (self.place / ".stderr").read_text(errors="replace")
        return Outcome(how, *map(int, numbers), text)

    def results(self):
        """Bytes of all files by name, standard output's among them."""
        return {
            str(file.relative_to(self.place)): file.read_bytes()
            for file in self.place.rglob("*")
            if file.is_file() and file.name not in (".stderr", ".where")
        }


def share_out(work, use):
    """use(server, item) for all items, in as many threads, with a server each, as the machine has cores."""
    items, lock, faults = iter(work), threading.Lock(), []

    def serve(server):
        while True:
            with lock:
                item = next(items, None)
            if item is None or faults:
                return
            try:
                use(server, item)
            except BaseException as fault:  # seen by the main thread
                faults.append(fault)

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        threads = [
            threading.Thread(target=serve, args=(Server(pathlib.Path(folder, str(n))),)) for n in range(os.cpu_count() or 1)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if faults:
        raise faults[0]
