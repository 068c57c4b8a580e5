"""For tests that run commands: a temporary folder, and a run that must end well."""
import os
import subprocess
import tempfile

TRELLIS = os.environ["TRELLIS"]
folder = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(folder.name, name)


def run(*command, data=None, codes=(0,)):
    done = subprocess.run(command, input=data, capture_output=True)
    if done.returncode not in codes:
        raise RuntimeError(f"exit code {done.returncode}: {' '.join(command)}\n{done.stderr.decode(errors='replace')}")
    return done
